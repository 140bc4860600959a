package import Workouts

extension SessionState {
    /// Reads a payload of `state`; one that no session can have is refused like one that is not JSON.
    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(SessionState.self, from: payload)
        guard SeenRevision.range.contains(revision) else { throw .malformed("revision: out of range") }
        if let flaw { throw .malformed(flaw) }
    }
}
