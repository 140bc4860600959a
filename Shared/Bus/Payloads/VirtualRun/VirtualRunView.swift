package import Workouts

/// A user's view of a virtual run, on `runs/{run}`.
package struct VirtualRunView: Equatable, Sendable {
    package struct Participant: Codable, Equatable, Sendable {
        /// What a participant reached, by event time.
        package struct Finish: Codable, Equatable, Sendable {
            /// Metres.
            package var distance: Double?
            package var activeDuration: Double
            /// Seconds per kilometre.
            package var pace: Double?

            package init(distance: Double?, activeDuration: Double, pace: Double?) {
                self.distance = distance
                self.activeDuration = activeDuration
                self.pace = pace
            }
        }

        package var user: User
        package var status: ParticipantStatus
        /// Why the status was reached; absent after a request of their own. Of `declined`: `expired`, `unconfirmed`,
        /// `removed` by the host, or `closed` because the run accepts no more runners. Of `left`: `canceled` or `deleted`, as
        /// the session was.
        package var reason: String?
        /// When the status was reached.
        package var at: Timestamp
        /// When this participant begins; absent before it is known.
        package var startsAt: Timestamp?
        package var environment: Environment?
        package var sharing: Sharing
        package var maximumHeartRate: Double?
        /// The session that every device of this user starts, and the id of that command; in the user's own row alone.
        package var session: SessionID?
        package var startId: CommandID?
        package var finished: Finish?

        package init(user: User, status: ParticipantStatus, at: Timestamp, sharing: Sharing) {
            self.user = user
            self.status = status
            self.at = at
            self.sharing = sharing
        }
    }

    package struct Ghost: Codable, Equatable, Sendable {
        /// The number of the ghost, from 1.
        package var number: Int
        /// Absent for a pacing partner.
        package var user: User?
        /// Seconds per kilometre, of a pacing partner.
        package var pace: Double?

        package init(number: Int, user: User? = nil, pace: Double? = nil) {
            self.number = number
            self.user = user
            self.pace = pace
        }
    }

    /// All unfinished partners are lost: the client asks whether to wait or to end.
    package struct Prompt: Codable, Equatable, Sendable {
        package var since: Timestamp

        package init(since: Timestamp) { self.since = since }
    }

    package struct Results: Codable, Equatable, Sendable {
        /// Whether a workout is missing or may still change.
        package var provisional: Bool?
        package var rows: [RunResult]

        package init(isProvisional: Bool, rows: [RunResult]) {
            provisional = isProvisional ? true : nil
            self.rows = rows
        }
    }

    package var run: RunID
    /// The reader of this view.
    package var user: User
    package var revision: Int64
    package var status: RunStatus
    /// Why the run was canceled; absent after the host's request: `declined` by too many, `expired` invitations,
    /// `unconfirmed`, `left` before the start, or `deleted` with the host's account.
    package var reason: String?
    package var host: User
    package var settings: RunSettings
    package var createdAt: Timestamp
    /// The end of open invitations.
    package var expiresAt: Timestamp?
    package var confirmBy: Timestamp?
    package var startsAt: Timestamp?
    package var prompt: Prompt?
    /// In group order: the host first, then in order of invitation.
    package var participants: [Participant]
    package var ghosts: [Ghost]
    package var results: Results?

    package init(
        run: RunID, user: User, revision: Int64, status: RunStatus, host: User, settings: RunSettings,
        createdAt: Timestamp, participants: [Participant], ghosts: [Ghost] = []
    ) {
        self.run = run
        self.user = user
        self.revision = revision
        self.status = status
        self.host = host
        self.settings = settings
        self.createdAt = createdAt
        self.participants = participants
        self.ghosts = ghosts
    }

    /// The reader's own row.
    package var own: Participant? { participants.first { $0.user == user } }
}

extension VirtualRunView: Codable {
    private enum Key: String, CodingKey {
        case run, user, revision, status, reason, host, createdAt, expiresAt, confirmBy, startsAt, prompt, participants,
            ghosts, results
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        run = try container.decode(RunID.self, forKey: .run)
        user = try container.decode(User.self, forKey: .user)
        revision = try container.decode(Int64.self, forKey: .revision)
        status = try container.decode(RunStatus.self, forKey: .status)
        reason = try container.decodeIfPresent(String.self, forKey: .reason)
        host = try container.decode(User.self, forKey: .host)
        settings = try RunSettings(from: decoder)
        createdAt = try container.decode(Timestamp.self, forKey: .createdAt)
        expiresAt = try container.decodeIfPresent(Timestamp.self, forKey: .expiresAt)
        confirmBy = try container.decodeIfPresent(Timestamp.self, forKey: .confirmBy)
        startsAt = try container.decodeIfPresent(Timestamp.self, forKey: .startsAt)
        prompt = try container.decodeIfPresent(Prompt.self, forKey: .prompt)
        participants = try container.decode([Participant].self, forKey: .participants)
        ghosts = try container.decodeIfPresent([Ghost].self, forKey: .ghosts) ?? []
        results = try container.decodeIfPresent(Results.self, forKey: .results)
    }

    package func encode(to encoder: any Encoder) throws {
        try settings.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(run, forKey: .run)
        try container.encode(user, forKey: .user)
        try container.encode(revision, forKey: .revision)
        try container.encode(status, forKey: .status)
        try container.encodeIfPresent(reason, forKey: .reason)
        try container.encode(host, forKey: .host)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encodeIfPresent(expiresAt, forKey: .expiresAt)
        try container.encodeIfPresent(confirmBy, forKey: .confirmBy)
        try container.encodeIfPresent(startsAt, forKey: .startsAt)
        try container.encodeIfPresent(prompt, forKey: .prompt)
        try container.encode(participants, forKey: .participants)
        if !ghosts.isEmpty { try container.encode(ghosts, forKey: .ghosts) }
        try container.encodeIfPresent(results, forKey: .results)
    }
}
