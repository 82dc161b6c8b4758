"""python_client.py: a session with the client side of the package agent-client-protocol.

    python_client.py AGENT ARGUMENT…
"""
import asyncio
import os
import sys

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse


class Editor(acp.Client):
    def __init__(self):
        self.updates, self.asked = [], []

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append(tool_call)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=options[0].option_id))

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    def text(self):
        return "".join(u.content.text for u in self.updates if u.session_update == "agent_message_chunk")


async def main():
    editor = Editor()
    async with acp.spawn_agent_process(editor, *sys.argv[1:], env=dict(os.environ)) as (agent, _):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == 1 and hello.agent_capabilities.load_session, hello
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id
        answer = await agent.prompt(session_id=session, prompt=[acp.text_block("hi")])
        assert answer.stop_reason == "end_turn" and len(editor.asked) == 1, answer
        assert editor.text().endswith("Done: tallied 1"), editor.text()
        assert any(s.session_id == session for s in (await agent.list_sessions()).sessions)
        await agent.set_session_mode(session_id=session, mode_id="allow")
        await agent.close_session(session_id=session)
        editor.updates.clear()
        await agent.load_session(session_id=session, cwd=os.getcwd(), mcp_servers=[])
        assert editor.text().endswith("Done: tallied 1"), editor.text()
        try:
            await agent.load_session(session_id="none", cwd="/", mcp_servers=[])
            raise AssertionError("an unknown session was loaded")
        except acp.RequestError as error:
            assert error.code == -32002, error


asyncio.run(main())
