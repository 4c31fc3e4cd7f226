"""Reads exported runs, one a line, with the generated code of OTLP's own protobuf schema. An unknown field is an error.
A file given beside them holds the last run as it was sent, in protobuf, and must say the same.

Exit code 77: the package `opentelemetry-proto` is not installed.
"""
import base64, json, sys

try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
except ImportError:
    sys.exit(77)

names = []
for line in sys.stdin:
    told = json.loads(line)
    for span in told["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        # OTLP writes ids as hexadecimal digits; protobuf's own JSON has bytes in base64.
        for field in ("traceId", "spanId", "parentSpanId"):
            if field in span:
                span[field] = base64.b64encode(bytes.fromhex(span[field])).decode()
    request = json_format.Parse(json.dumps(told), ExportTraceServiceRequest())
    spans = request.resource_spans[0].scope_spans[0].spans
    for span in spans:
        assert len(span.trace_id) == 16 and len(span.span_id) == 8, span
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
        times = [span.start_time_unix_nano] + [event.time_unix_nano for event in span.events] + [span.end_time_unix_nano]
        assert times == sorted(times) and all(event.name for event in span.events), span
        assert span.end_time_unix_nano <= spans[0].end_time_unix_nano, span
        said = {attribute.key: attribute.value for attribute in span.attributes}
        assert said["gen_ai.operation.name"].string_value in ("invoke_agent", "execute_tool"), said
        names.append(f"{span.name} {span.status.code}")
    assert all(span.parent_span_id == spans[0].span_id for span in spans[1:]), spans
    assert ExportTraceServiceRequest.FromString(request.SerializeToString()) == request
if len(sys.argv) > 1:
    with open(sys.argv[1], "rb") as file:
        sent = ExportTraceServiceRequest.FromString(file.read())
    assert sent == request, f"{sent}\n\n{request}"
print("\n".join(names))
