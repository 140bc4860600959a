/// The plan of a session with its progress. A value: actions and times go in, and what it shows at any time is computed.
package struct PlannedWorkout: Codable, Equatable, Sendable {
    package internal(set) var plan: SessionPlan
    package internal(set) var progress: PlanProgress

    /// - Parameter start: when the session is active.
    package init(_ plan: SessionPlan, start: Timestamp) {
        self.plan = plan
        progress = PlanProgress(start: start)
    }

    /// `nil` when it is the progress of another plan.
    init?(plan: SessionPlan, progress: PlanProgress) {
        guard progress.flaw(of: plan) == nil else { return nil }
        self.plan = plan
        self.progress = progress
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        plan = try container.decode(SessionPlan.self, forKey: .plan)
        progress = try container.decode(PlanProgress.self, forKey: .progress)
        if let flaw = progress.flaw(of: plan) {
            throw DecodingError.dataCorruptedError(forKey: .progress, in: container, debugDescription: flaw)
        }
    }
}
