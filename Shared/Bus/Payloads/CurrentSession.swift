package import Workouts

/// The user's unfinished session on `current`, for a resume button.
package struct CurrentSession: Codable, Equatable, Sendable {
    package struct Details: Codable, Equatable, Sendable {
        package var status: SessionStatus
        package var activity: Activity
        package var name: String
        package var symbol: String
        package var startedAt: Timestamp?
        /// Whether to offer to resume the session.
        package var offersResume: Bool
        /// The completed exercises and all exercises of the plan; absent without a plan.
        package var progress: Progress?
    }

    package struct Progress: Codable, Equatable, Sendable {
        package var done: Int
        package var total: Int
    }

    package var revision: Int64
    /// `nil`, encoded as `null`, if there is none.
    package var session: SessionID?
    package var details: Details?

    package init(revision: Int64, state: SessionState?, plan: PlanState? = nil) {
        self.revision = revision
        session = state?.session
        details = state.map {
            Details(
                status: $0.status, activity: $0.activity, name: $0.name, symbol: $0.symbol, startedAt: $0.startedAt,
                offersResume: $0.status.isUnderWay,
                progress: plan.map { Progress(done: $0.progress.done, total: $0.progress.total) })
        }
    }
}

extension CurrentSession {
    private enum Key: String, CodingKey {
        case revision, session
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        revision = try container.decode(Int64.self, forKey: .revision)
        session = try container.decodeIfPresent(SessionID.self, forKey: .session)
        details = session == nil ? nil : try Details(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try details?.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(revision, forKey: .revision)
        try container.encode(session, forKey: .session)
    }
}
