"""Generate libs/stud from protos/, or check that it is what protos/ would give.

Works in a temporary folder and copies what differs, so that an unchanged file keeps
its time stamp and nobody sees a half-written package.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
PACKAGE = Path("stud")
TARGET = ROOT / "libs"


def generate(out: Path) -> None:
    sources = sorted(str(p.relative_to(PROTOS)) for p in (PROTOS / PACKAGE).rglob("*.proto"))
    if not sources:
        sys.exit("no .proto files under protos/")
    # protoc finds its mypy plugins on PATH, and they lie beside this interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"-I{PROTOS}",
            f"--python_out={out}",
            f"--grpc_python_out={out}",
            f"--mypy_out=quiet:{out}",
            # Stubs and servicers typed for grpc.aio alone, the only flavour used here.
            f"--mypy_grpc_out=quiet,only_async:{out}",
            *sources,
        ],
        check=True,
        env={**os.environ, "PATH": path},
    )


def generated_files(base: Path) -> dict[Path, bytes]:
    return {
        p.relative_to(base): p.read_bytes() for p in (base / PACKAGE).rglob("*_pb2*") if p.suffix in {".py", ".pyi"}
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        fresh_base = Path(folder)
        generate(fresh_base)
        fresh, present = generated_files(fresh_base), generated_files(TARGET)
        stale = sorted(p for p in fresh.keys() | present.keys() if fresh.get(p) != present.get(p))
        if check:
            if stale:
                names = "\n  ".join(map(str, stale))
                sys.exit(f"libs/ is not what protos/ gives; run `make proto`:\n  {names}")
            return
        for path in stale:
            target = TARGET / path
            if path in fresh:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(fresh_base / path, target)
            else:
                target.unlink()
            print(f"{'wrote' if path in fresh else 'removed'} libs/{path}")


if __name__ == "__main__":
    main()
