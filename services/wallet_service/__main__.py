"""``python -m wallet_service``: run the wallet until it is told to stop."""

from __future__ import annotations

import sys

from stud_service.garbage import nothing_collected

if __name__ == "__main__":
    with nothing_collected():
        from stud_service.run import run
        from wallet_service.app import WalletApp

    sys.exit(run("wallet", WalletApp))
