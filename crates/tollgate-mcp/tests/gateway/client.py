import asyncio
import sys

from mcp import ClientSession, types

try:
    from mcp.client.streamable_http import streamable_http_client as connect
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client as connect


async def elicited(context, params):
    print("asked", params.message.splitlines()[0])
    return types.ElicitResult(action="accept", content={"decision": "yes"})


def structured(result):
    return getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)


def is_error(result):
    return getattr(result, "is_error", None) or getattr(result, "isError", None)


async def main():
    async with connect(sys.argv[1]) as streams:
        async with ClientSession(streams[0], streams[1], elicitation_callback=elicited) as session:
            await session.initialize()
            tools = await session.list_tools()
            print(" ".join(tool.name for tool in tools.tools))
            print((await session.call_tool("echo", {"text": "hello"})).content[0].text)
            refused = await session.call_tool("echo", {"text": "secret"})
            print("error", is_error(refused), refused.content[0].text.split(":")[0])
            print((await session.call_tool("change", {"text": "approved"})).content[0].text)
            print("sum", structured(await session.call_tool("add", {"a": 2, "b": 3}))["sum"])


asyncio.run(main())
