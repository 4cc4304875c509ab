"""Real processes that hold keys leave no core and cannot be looked into, unless somebody allowed it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stud_cli.local.ports import Port
from stud_cli.local.system import SERVICES
from stud_service.keyring import ensure_dev_keys

ROOT = Path(__file__).parents[2]
# As the command line says it, and at the end the kernel's own word on it: from outside a root cannot see it.
TOLD = """
import atexit, ctypes, resource, runpy, sys
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
@atexit.register
def tell():
    with open("dumpable", "w") as file:
        file.write(str(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)))  # PR_GET_DUMPABLE
"""


def end(folder: Path, code: str, environ: dict[str, str], ready: str) -> tuple[str, str]:
    """Runs it until it says so, and returns its limit for cores and whether the kernel calls it dumpable."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("STUD_")}
    path = os.pathsep.join((str(ROOT / "libs"), str(ROOT / "services"), str(ROOT)))
    said = folder / "said"
    with said.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", TOLD + code],
            cwd=folder,
            env={**known, **environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
        )
    deadline = time.monotonic() + 60
    while ready not in said.read_text():
        assert time.monotonic() < deadline, said.read_text()
        assert process.poll() is None, said.read_text()
        time.sleep(0.02)
    limits = Path(f"/proc/{process.pid}/limits").read_text()
    process.send_signal(signal.SIGINT)
    process.wait(30)
    (limit,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    return limit.split()[4], (folder / "dumpable").read_text()


def run_service(name: str, folder: Path, **environ: str) -> tuple[str, str]:
    ensure_dev_keys(folder / "keys")
    port, nowhere = Port(), Port()
    environ |= {
        "STUD_KEYS_DIR": str(folder / "keys"),
        "STUD_LISTEN": port.address,
        "STUD_METRICS_PORT": "0",
        "STUD_REDIS_URL": f"redis://{nowhere.address}/0",
    }
    return end(folder, f"runpy.run_module('{name}_service', None, '__main__')", environ, "waiting_for_log")


@pytest.mark.parametrize("name", SERVICES)
def test_a_service(name: str, tmp_path: Path):
    assert run_service(name, tmp_path) == ("0", "0")


def test_where_it_is_allowed_all_is_as_before(tmp_path: Path):
    assert run_service("table", tmp_path, STUD_ALLOW_CORE="1") == (own_limit(), "1")


def own_limit() -> str:
    lines = Path("/proc/self/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith("Max core file size")).split()[5]


@pytest.mark.parametrize(("allow", "expected"), [("0", "0"), ("1", "1"), ("perhaps", "0")])
def test_a_command(tmp_path: Path, allow: str, expected: str):
    code = "import stud_cli.main, stud_cli.output; sys.argv = ['stud', 'rules', '--help']; stud_cli.main.main()"
    known = {name: value for name, value in os.environ.items() if not name.startswith("STUD_")}
    done = subprocess.run(
        [sys.executable, "-c", TOLD + code], cwd=tmp_path, env={**known, "STUD_ALLOW_CORE": allow}, check=False
    )
    assert done.returncode == 0
    assert (tmp_path / "dumpable").read_text() == expected
