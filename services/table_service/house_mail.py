"""An operator's message to an account, or to everybody at a table: checked, sent once, and answered again as it was."""

from __future__ import annotations

from stud.table.v1 import table_service_pb2 as pb
from stud_core.interest import seated_text
from stud_service.checks import require_account, require_request_id, require_text
from stud_service.refusals import Refused
from table_service.handlers import content_of
from table_service.house_messages import DAY_MS, MAX_TEXT, Sent
from table_service.registry import Registry


async def send(registry: Registry, operator: str, request: pb.SendHouseMessageRequest) -> pb.SendHouseMessageResponse:
    """Send it. Raises Refused: INVALID_FIELD, UNKNOWN_TABLE, OWN_INTEREST, REQUEST_ID_REUSED."""
    request_id, digest = require_request_id(request.request_id), content_of(request)
    text = require_text(request.text, "text", MAX_TEXT)
    if not 0 <= request.keep_ms <= DAY_MS:
        wanted = f"keep_ms {request.keep_ms}: want 1 to {DAY_MS}, or 0 for a day"
        raise Refused("INVALID_FIELD", wanted, field="keep_ms", min="0", max=str(DAY_MS))
    if bool(request.account) == bool(request.table):
        raise Refused("INVALID_FIELD", "want an account or a table, one of the two", field="account")
    people = registry.people
    sent = people.messages.sent_before(operator, request_id, digest)
    if sent is None:
        accounts = await _accounts(registry, operator, request)
        watching = sum(map(people.watching, accounts))
        number = people.mail(accounts, request.table, text, request.keep_ms or DAY_MS)
        sent = Sent(digest, number, len(accounts), watching)
        people.messages.remember(operator, request_id, sent)
    return pb.SendHouseMessageResponse(message_no=sent.message_no, accounts=sent.accounts, watching=sent.watching)


async def _accounts(registry: Registry, operator: str, request: pb.SendHouseMessageRequest) -> list[str]:
    """Return whom it is for. An operator says nothing in the house's name to those they play with."""
    if request.table:
        table = (await registry.get(request.table, operator)).table
        if table.of(operator) is not None:
            raise Refused("OWN_INTEREST", seated_text())
        return sorted({sitting.account for sitting in table.sittings.values()})
    account = require_account(request.account)
    people = registry.people
    if account == operator or not set(people.tables_of(operator)).isdisjoint(people.tables_of(account)):
        raise Refused("OWN_INTEREST", "you are, or play with, the account: another operator must do it")
    return [account]
