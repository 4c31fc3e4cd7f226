"""A server with one tool, `book`, which asks the person what the given file says and answers with what it was told."""
import json
import sys

QUESTION = json.load(open(sys.argv[1]))
waiting = None


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method is None:
        say({"id": waiting, "result": {"content": [{"type": "text", "text": json.dumps(message.get("result", message.get("error")))}]}})
    elif method == "initialize":
        info = {"name": "asks", "version": "1"}
        say({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}})
    elif method == "tools/list":
        say({"id": message["id"], "result": {"tools": [{"name": "book", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        waiting = message["id"]
        say({"id": "q", "method": "elicitation/create", "params": QUESTION})
    elif "id" in message:
        say({"id": message["id"], "error": {"code": -32601, "message": "no"}})
