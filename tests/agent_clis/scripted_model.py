"""A scripted model on loopback: it executes one line of the latest task per model call (OpenAI Responses API).

write FILE TEXT   call the shell tool to write a file
sh COMMAND        call the shell tool
say TEXT          the final message; "Done." if a line does not say one
"""

import itertools
import json
import shlex
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ACTIONS = ("write", "sh")
INPUT_TOKENS, OUTPUT_TOKENS = 1000, 50


class ScriptedModel:
    """Runs until it is closed; agents are configured with `base_url`."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _lines_of(text):
    pairs = [line.strip().partition(" ")[::2] for line in text.splitlines()]
    return [(word, rest) for word, rest in pairs if word in (*ACTIONS, "say")]


def _answer(items):
    """The shell command to request or the final message, and the number of tool calls before it."""
    lines, answered = [], 0
    for item in items:
        if item.get("type", "message") == "message" and item.get("role") == "user":
            if latest := _lines_of("\n".join(part.get("text", "") for part in item["content"])):
                lines, answered = latest, 0
        elif item.get("type", "").endswith("_output"):
            answered += 1
    actions = [line for line in lines if line[0] in ACTIONS]
    if answered < len(actions):
        word, rest = actions[answered]
        if word == "write":
            name, _, text = rest.partition(" ")
            rest = f"printf '%s\\n' {shlex.quote(text)} > {shlex.quote(name)}"
        return rest, None, answered
    return None, next((rest for word, rest in lines if word == "say"), "Done."), answered


def _tool_names(body):
    """Codex sends its tools as an item of the input, in a namespace."""
    tools = list(body.get("tools") or ())
    for item in body["input"]:
        tools += item.get("tools") or () if item.get("type") == "additional_tools" else ()
    return {entry.get("name") for tool in tools for entry in (tool, *(tool.get("tools") or ()))}


def _call(command, tools, number):
    call = {"id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
    if "exec_command" in tools:
        arguments = json.dumps({"cmd": command})
        return call | {"type": "function_call", "name": "exec_command", "arguments": arguments}
    script = f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output);"
    return call | {"type": "custom_tool_call", "name": "exec", "input": script}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    numbers = itertools.count(1)

    def log_message(self, *_words):
        pass

    def do_GET(self):
        if self.headers.get("upgrade"):  # Codex falls back to plain HTTP at once.
            self._send(426, b"{}")
        else:
            self._send(200, b'{"object": "list", "data": [], "models": []}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = next(self.numbers)
        command, text, answered = _answer(body["input"])
        if text is None:
            item = _call(command, _tool_names(body), number)
        else:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
        usage = {
            "input_tokens": INPUT_TOKENS + 100 * answered,
            "input_tokens_details": {"cached_tokens": 400},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + 100 * answered + OUTPUT_TOKENS,
        }
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": body.get("model")}
        done = response | {"status": "completed", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(200, stream.encode(), "text/event-stream")

    def _send(self, code, data, kind="application/json"):
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
