"""The function of a node: reads its arguments as JSON, and prints its result as JSON."""
import json
import sys

text = json.load(sys.stdin)["text"]
print(json.dumps({"words": len(text.split()), "shouting": text.isupper()}))
