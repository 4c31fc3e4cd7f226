"""Reads exported runs, one a line, with the generated code of OTLP's own protobuf schema. An unknown field is an error.

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
        assert all(event.time_unix_nano > 0 and event.name for event in span.events), span
        said = {attribute.key: attribute.value for attribute in span.attributes}
        assert said["gen_ai.operation.name"].string_value in ("invoke_agent", "execute_tool"), said
        names.append(f"{span.name} {span.status.code}")
    assert all(span.parent_span_id == spans[0].span_id for span in spans[1:]), spans
    assert ExportTraceServiceRequest.FromString(request.SerializeToString()) == request
print("\n".join(names))
