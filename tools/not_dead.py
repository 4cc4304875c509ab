"""What vulture calls unused and is not, by reason. What nobody uses any more goes from here and from the code."""

from typing import Any

_: Any

# Called by gRPC, by the name of the contract
_.AuditDeck
_.AuditDownCards
_.ClearPreAction
_.GetLegalActions
_.GetHand
_.GetMe
_.ListHands
_.ListRulesets
_.RankHand
_.SendHouseMessage
_.intercept_service

# Called by a library or by the interpreter
_.construct_mapper
_.list_commands
_.on_broken_pipe
_.on_end
_.on_start
_.redirect_request
_.__annotations__
_.__signature__
_.unraisablehook
_.encoding
_.writable

# Commands: named as text in stud_cli.loading, and loaded by that name
_.audit
_.demo
_.init
_.rehearse

# Fields of the contract and of the log: written for whoever reads them there
_.deck_ref
_.offered_until_ms
_.prompt_deadline_ms
_.referee_has_figures
_.referee_rake
_.table_rake

# For people who write a client, a console or a test
_.parse_cards
_.suit_of
_.with_token

# Looked at by tests alone, as there is no other way to see it
_.caught_up_to
_.kill_service
_.replayed
_.restart
_.restore
_.skipped
_.snapshot
_.stalled
_.stalls

# The access list and its test are held against them
_.lease
_.looks_up

# Called by textual, by their names
_.AUTO_FOCUS
_.BINDINGS
_.CSS
_.ENABLE_COMMAND_PALETTE
_.action_act
_.action_ahead
_.action_answer
_.action_ante
_.action_ask
_.action_ask_amount
_.action_back
_.action_clear
_.action_end
_.action_help
_.action_leave
_.action_mark
_.action_match
_.action_play
_.action_prefer
_.action_presence
_.action_read_on
_.action_scroll
_.action_show
_.action_speed
_.action_stand_up
_.action_time
_._fatal_error  # noqa: SLF001  (textual has no public name for it)
_.action_step
_.compose
_.disabled
_.on_input_submitted
_.on_mount
_.on_resize
_.placeholder
