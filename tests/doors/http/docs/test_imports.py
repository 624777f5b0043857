"""Other people's tools import the OpenAPI document: a validator, and the converter of Postman."""

import json
import subprocess
from pathlib import Path

from tests.doors.services import Visit
from tests.npm import install_packages

NODE = Path(__file__).parent / "node"


async def test_tools_import_every_operation_with_its_example(visit: Visit, tmp_path: Path) -> None:
    install_packages(NODE)
    text = (await visit.client.get("/openapi.json")).text
    (tmp_path / "openapi.json").write_text(text)
    command = ["node", str(NODE / "import.mjs"), str(tmp_path / "openapi.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told, paths = json.loads(done.stdout.splitlines()[-1]), json.loads(text)["paths"]
    operations = [operation for item in paths.values() for operation in item.values()]
    assert told["paths"] == len(paths)
    assert sorted(one["name"] for one in told["requests"]) == sorted(one["summary"] for one in operations)
    written = [one for one in told["requests"] if one["body"]]
    assert len(written) == sum("requestBody" in operation for operation in operations)
    for one in written:  # each is ready to be sent
        assert isinstance(json.loads(one["body"]), dict | list), one["name"]
        assert "<string>" not in one["body"], one["name"]
