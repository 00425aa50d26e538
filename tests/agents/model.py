"""A language model that follows a script: it calls the tools of a plan one after the other and then says that it is done.

It speaks the four protocols that agents speak: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's generateContent.
Each is a class that knows where that protocol keeps the tools on offer and the results of those called, and how a reply is written.
"""

import gzip
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE = "All done."


def text_of(content):
    """The text of a content that may be a string, a list of blocks, or an object."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(text_of(block) for block in content)
    if isinstance(content, dict):
        for key in ("text", "output", "content", "value"):
            if key in content:
                return text_of(content[key])
        return json.dumps(content)
    return "" if content is None else str(content)


class Anthropic:
    """POST /v1/messages"""

    def tools(self, body):
        return {tool["name"]: tool["name"] for tool in body.get("tools", []) if "name" in tool}

    def results(self, body):
        blocks = [block for message in body.get("messages", []) if isinstance(message["content"], list) for block in message["content"]]
        return [text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]

    def reply(self, body, call):
        block = {"type": "text", "text": DONE}
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
        if call:
            block = {"type": "tool_use", "id": unique("toolu"), "name": call[0], "input": call[1]}
            start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        stop = "tool_use" if call else "end_turn"
        message = {"id": unique("msg"), "type": "message", "role": "assistant", "model": body.get("model", "scripted"), "content": [block],
                   "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}}
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        return message, events, True


class Responses:
    """POST /v1/responses; tools may be in namespaces, and are then called with theirs."""

    def tools(self, body):
        found = {}
        for tool in body.get("tools", []):
            for inner in tool.get("tools", [tool]):
                if "name" in inner:
                    found[inner["name"]] = (inner["name"], tool["name"] if inner is not tool else None)
        return found

    def results(self, body):
        items = [item for item in body.get("input", []) if isinstance(item, dict)]
        return [text_of(item.get("output")) for item in items if item.get("type") in ("function_call_output", "mcp_call_output")]

    def reply(self, body, call):
        item = {"type": "message", "id": unique("msg"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": DONE, "annotations": []}]}
        if call:
            (name, namespace), arguments = call
            item = {"type": "function_call", "id": unique("fc"), "call_id": unique("call"), "name": name, "arguments": json.dumps(arguments),
                    "status": "completed", **({"namespace": namespace} if namespace else {})}
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                 "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": unique("resp"), "object": "response", "created_at": 0, "model": body.get("model", "scripted"), "status": "completed",
                    "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        return response, events, True


class Chat:
    """POST /v1/chat/completions"""

    def tools(self, body):
        return {tool["function"]["name"]: tool["function"]["name"] for tool in body.get("tools", []) if "function" in tool}

    def results(self, body):
        return [text_of(message.get("content")) for message in body.get("messages", []) if message.get("role") == "tool"]

    def reply(self, body, call):
        message = {"role": "assistant", "content": DONE}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": unique("call"), "type": "function", "function": function}]}
        stop = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        base = {"id": unique("chat"), "created": 0, "model": body.get("model", "scripted")}
        whole = {**base, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": stop}], "usage": usage}
        chunk = {**base, "object": "chat.completion.chunk"}
        events = [
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage},
            "[DONE]",
        ]
        return whole, events, False


class Gemini:
    """POST /v1beta/models/MODEL:generateContent and :streamGenerateContent"""

    def tools(self, body):
        declared = [function for tool in body.get("tools", []) for function in tool.get("functionDeclarations", [])]
        return {function["name"]: function["name"] for function in declared}

    def results(self, body):
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        return [text_of(part["functionResponse"].get("response")) for part in parts if "functionResponse" in part]

    def reply(self, body, call):
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": DONE}
        if not call and "json" in json.dumps(body.get("generationConfig", {})).lower():
            # The agent asks itself which model to use, or who speaks next.
            part = {"text": json.dumps({"reasoning": "", "next_speaker": "user", "model_choice": "flash", "complexity_score": 1, "complexity_reasoning": ""})}
        whole = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                 "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "scripted"}
        return whole, [whole], False


PROTOCOLS = [("/messages", Anthropic()), ("/responses", Responses()), ("/chat/completions", Chat()), ("enerateContent", Gemini())]


def unique(prefix):
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


def find(tools, wanted):
    """The tool that an agent calls `wanted`, whatever its own prefix; not one of the agent's own tools of that name where there is another,
    unless it is called `=wanted`."""
    if wanted.startswith("="):
        return tools.get(wanted[1:])
    ending = [name for name in tools if name.endswith(wanted)]
    ours = [name for name in ending if "codeskim" in name] or [name for name in ending if name != wanted] or ending
    return tools[ours[0]] if ours else None


class Model:
    """A model on a port of this machine. `seen` is what came back of each call, as the model got it; `told` is all that it was told, as JSON;
    `missing` are tools of the plan that were not on offer."""

    def __init__(self):
        self.follow([])
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def follow(self, plan):
        """Forgets all and takes up a plan: a list of (tool, arguments)."""
        self.plan, self.seen, self.told, self.missing, self.paths = plan, [], "", [], []

    def answer(self, protocol, body):
        tools, results = protocol.tools(body), protocol.results(body)
        call = None
        if tools:
            if len(results) >= len(self.seen):
                self.seen, self.told = results, json.dumps(body)
            if len(results) < len(self.plan):
                name, arguments = self.plan[len(results)]
                tool = find(tools, name)
                if tool is None:
                    self.missing.append((name, sorted(tools)))
                else:
                    call = (tool, arguments)
            elif find(tools, "finish") is not None:
                call = (find(tools, "finish"), {"message": DONE})
        return protocol.reply(body, call)

    def handler(self):
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def body(self):
                if self.headers.get("transfer-encoding", "").lower() == "chunked":
                    raw = b""
                    while length := int(self.rfile.readline().strip() or b"0", 16):
                        raw += self.rfile.read(length)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    raw = gzip.decompress(raw)
                try:
                    return json.loads(raw or b"{}")
                except ValueError:
                    return {}

            def send(self, data, kind="application/json"):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_HEAD(self):
                self.send(b"")

            def do_GET(self):
                models = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
                self.send(json.dumps(models if "models" in self.path else {}).encode())

            def do_POST(self):
                body, path = self.body(), self.path.split("?")[0]
                model.paths.append(path)
                if "ount" in path.rsplit("/", 1)[-1]:  # count_tokens, :countTokens
                    return self.send(json.dumps({"input_tokens": 100, "totalTokens": 100}).encode())
                protocol = next((protocol for ending, protocol in PROTOCOLS if path.endswith(ending)), None)
                if protocol is None:
                    return self.send(b"{}")
                whole, events, named = model.answer(protocol, body)
                if not (body.get("stream") or "streamGenerate" in path):
                    return self.send(json.dumps(whole).encode())
                lines = []
                for event in events:
                    if named:
                        lines.append(f"event: {event['type']}\n")
                    lines.append(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
                self.send("".join(lines).encode(), "text/event-stream")

        return Handler
