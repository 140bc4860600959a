import TestSupport
import Testing

/// The client against `APNsServer`, one test after the other: most are about time.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .disabled(if: APNsServer.isMissing, "PYTHON names no interpreter with h2, PyJWT and cryptography"))
struct APNsTests {}
