package import Workouts

extension SessionState {
    /// Decodes a payload of `state`. A state that no session can have is rejected like invalid JSON.
    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(SessionState.self, from: payload)
        guard SeenRevision.range.contains(revision) else { throw .malformed("revision: out of range") }
        if let validationError { throw .malformed(validationError) }
    }
}

/// The payload of `state`: the session's fields and those of its plan.
package struct PublishedState: Encodable, Sendable {
    private let state: SessionState
    private let plan: PlanState?

    package init(_ state: SessionState, _ plan: PlanState?) {
        self.state = state
        self.plan = plan
    }

    package func encode(to encoder: any Encoder) throws {
        try state.encode(to: encoder)
        try plan?.encode(to: encoder)
    }
}

extension PlanState {
    private struct Payload: Decodable {
        let plan: SessionPlan?
        let progress: ProgressReport?
        let timer: TimerReport?
    }

    /// Decodes the plan of a payload of `state`; `nil` for a session without one.
    ///
    /// It is separate from ``SessionState`` because most services do not use it.
    package init?(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        let payload = try JSONCoding.decode(Payload.self, from: payload)
        guard let plan = payload.plan, let progress = payload.progress, let timer = payload.timer else { return nil }
        self.init(plan: plan, progress: progress, timer: timer)
        guard isConsistent else { throw .malformed("plan, progress and timer do not belong together") }
    }
}
