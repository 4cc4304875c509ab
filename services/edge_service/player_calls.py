"""Calls that a player may make, by the comments of the contract. Made by `make proto`: do not edit."""

from __future__ import annotations

from typing import Final

PLAYER_CALLS: Final = frozenset(
    {
        "/stud.dealer.v1.DealerService/GetCommitment",
        "/stud.rules.v1.RulesService/ListRulesets",
        "/stud.rules.v1.RulesService/GetRuleset",
        "/stud.rules.v1.RulesService/GetLegalActions",
        "/stud.rules.v1.RulesService/RankHand",
        "/stud.table.v1.TableService/ListTables",
        "/stud.table.v1.TableService/GetTable",
        "/stud.table.v1.TableService/WatchLobby",
        "/stud.table.v1.TableService/GetMe",
        "/stud.table.v1.TableService/WatchMe",
        "/stud.table.v1.TableService/ListHands",
        "/stud.table.v1.TableService/GetHand",
        "/stud.table.v1.TableService/TakeSeat",
        "/stud.table.v1.TableService/JoinWaitingList",
        "/stud.table.v1.TableService/LeaveWaitingList",
        "/stud.table.v1.TableService/AddChips",
        "/stud.table.v1.TableService/LeaveSeat",
        "/stud.table.v1.TableService/SitOut",
        "/stud.table.v1.TableService/SitIn",
        "/stud.table.v1.TableService/SetPreferences",
        "/stud.table.v1.TableService/PostAnte",
        "/stud.table.v1.TableService/Act",
        "/stud.table.v1.TableService/UseTimeChip",
        "/stud.table.v1.TableService/SetPreAction",
        "/stud.table.v1.TableService/ClearPreAction",
        "/stud.table.v1.TableService/ChooseShow",
        "/stud.table.v1.TableService/Play",
        "/stud.table.v1.TableService/Watch",
        "/stud.wallet.v1.WalletService/OpenAccount",
        "/stud.wallet.v1.WalletService/GetAccount",
        "/stud.wallet.v1.WalletService/WatchAccount",
        "/stud.wallet.v1.WalletService/ListTransfers",
    }
)
