"""All events of the files are events of the package ag-ui-protocol, and have no null: models.py FILE…"""
import json
import sys

from ag_ui.core import Event
from pydantic import TypeAdapter

adapter, count = TypeAdapter(Event), 0
for name in sys.argv[1:]:
    for line in open(name):
        event = adapter.validate_python(json.loads(line))
        again = json.loads(event.model_dump_json(by_alias=True, exclude_none=True, exclude_unset=True))
        assert again.keys() == json.loads(line).keys(), (line, again)
        count += 1
assert count > 100, count
