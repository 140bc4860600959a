package import Workouts

/// A request on `run-request`.
package struct VirtualRunRequest: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case create(RunProposal)
        case invite([User])
        case remove(User)
        case begin
        case cancel
        case accept(Sharing.Change)
        case decline
        case confirm
        case leave
        case share(Sharing.Change)
        case keepWaiting
        case show
        case routes
        case runs(RunsQuery)
        case addContact(User)
        case removeContact(User)
        case block(User)
        case unblock(User)
        case setInvites(InvitesFrom)
    }

    package var id: CommandID
    /// The reader of the reply; `nil` if nothing reads it.
    package var client: Client?
    /// Absent for requests about a user's runs and people.
    package var run: RunID?
    package var action: Action

    package init(id: CommandID, client: Client?, run: RunID? = nil, action: Action) {
        self.id = id
        self.client = client
        self.run = run
        self.action = action
    }

    package var envelope: Command.Envelope { Command.Envelope(id: id, client: client) }
}

/// The fields of `create`.
package struct RunProposal: Equatable, Sendable {
    package var settings: RunSettings
    package var invite: [User]
    package var ghosts: [GhostSource]
    package var sharing: Sharing.Change

    package init(
        _ settings: RunSettings = RunSettings(), invite: [User], ghosts: [GhostSource] = [],
        sharing: Sharing.Change = Sharing.Change()
    ) {
        self.settings = settings
        self.invite = invite
        self.ghosts = ghosts
        self.sharing = sharing
    }
}

/// A page of a user's runs, newest first.
package struct RunsQuery: Hashable, Sendable {
    package static let limits = 1...50

    /// Only runs created before this time.
    package var before: Timestamp?
    package var limit: Int

    package init(before: Timestamp? = nil, limit: Int = 20) {
        self.before = before
        self.limit = limit
    }
}

/// Who may invite a user.
package enum InvitesFrom: String, Codable, CaseIterable, Sendable {
    case everyone, contacts, nobody
}

extension VirtualRunRequest: Codable {
    private enum Key: String, CodingKey {
        case id, client, run, type
        case invite, ghosts, sharing, users, user, from, before, limit
    }

    private enum GhostKey: String, CodingKey {
        case user, session, pace
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        func user() throws -> User { try container.decode(User.self, forKey: .user) }
        func sharing() throws -> Sharing.Change {
            try container.number(Sharing.Change.self, forKey: .sharing) ?? Sharing.Change()
        }
        var isAboutRun = true
        switch try container.decode(String.self, forKey: .type) {
        case "create":
            var proposal = RunProposal(
                try RunSettings(from: decoder), invite: try Self.users(container, .invite) ?? [],
                sharing: try sharing())
            proposal.ghosts = try container.decodeIfPresent([Ghost].self, forKey: .ghosts)?.map(\.source) ?? []
            guard proposal.ghosts.count <= RunSettings.ghostLimit else {
                throw Self.invalid(.ghosts, container, "at most \(RunSettings.ghostLimit)")
            }
            guard RunSettings.runners.contains(1 + proposal.invite.count + proposal.ghosts.count) else {
                throw Self.invalid(.invite, container, "a run has 2 to 50 runners: the host, invited people and ghosts")
            }
            action = .create(proposal)
        case "invite":
            guard let users = try Self.users(container, .users), !users.isEmpty else {
                throw Self.invalid(.users, container, "1 to 49 users")
            }
            action = .invite(users)
        case "remove": action = .remove(try user())
        case "begin": action = .begin
        case "cancel": action = .cancel
        case "accept": action = .accept(try sharing())
        case "decline": action = .decline
        case "confirm": action = .confirm
        case "leave": action = .leave
        case "share": action = .share(try sharing())
        case "keepWaiting": action = .keepWaiting
        case "show": action = .show
        case "routes": action = .routes
        case let type:
            isAboutRun = false
            switch type {
            case "runs":
                let limit = try container.wholeNumber(forKey: .limit) ?? 20
                guard RunsQuery.limits.contains(limit) else { throw Self.invalid(.limit, container, "1 to 50") }
                action = .runs(
                    RunsQuery(before: try container.number(Timestamp.self, forKey: .before), limit: limit))
            case "addContact": action = .addContact(try user())
            case "removeContact": action = .removeContact(try user())
            case "block": action = .block(try user())
            case "unblock": action = .unblock(try user())
            case "setInvites": action = .setInvites(try container.decode(InvitesFrom.self, forKey: .from))
            default: throw Self.invalid(.type, container, "unknown request \"\(type.prefix(40))\"")
            }
        }
        run = isAboutRun ? try container.decode(RunID.self, forKey: .run) : nil
    }

    private static func invalid(_ key: Key, _ container: KeyedDecodingContainer<Key>, _ text: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: container, debugDescription: text)
    }

    /// The users of a field, each once.
    private static func users(_ container: KeyedDecodingContainer<Key>, _ key: Key) throws -> [User]? {
        guard let users = try container.decodeIfPresent([User].self, forKey: key) else { return nil }
        guard users.count < RunSettings.runners.upperBound, Set(users).count == users.count else {
            throw invalid(key, container, "at most 49 users, each once")
        }
        return users
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        try container.encodeIfPresent(run, forKey: .run)
        try container.encode(action.name, forKey: .type)
        switch action {
        case .create(let proposal):
            try proposal.settings.encode(to: encoder)
            try container.encode(proposal.invite, forKey: .invite)
            if !proposal.ghosts.isEmpty { try container.encode(proposal.ghosts.map(Ghost.init), forKey: .ghosts) }
            try container.encode(proposal.sharing, forKey: .sharing)
        case .invite(let users): try container.encode(users, forKey: .users)
        case .remove(let user), .addContact(let user), .removeContact(let user), .block(let user), .unblock(let user):
            try container.encode(user, forKey: .user)
        case .accept(let sharing), .share(let sharing): try container.encode(sharing, forKey: .sharing)
        case .runs(let query):
            try container.encodeIfPresent(query.before, forKey: .before)
            try container.encode(query.limit, forKey: .limit)
        case .setInvites(let from): try container.encode(from, forKey: .from)
        case .begin, .cancel, .decline, .confirm, .leave, .keepWaiting, .show, .routes: break
        }
    }

    /// A ghost on the wire: `{"session"}` of one's own, `{"user","session"}` or `{"pace"}`.
    private struct Ghost: Codable {
        let source: GhostSource

        init(_ source: GhostSource) { self.source = source }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: GhostKey.self)
            if let pace = try container.number(Double.self, forKey: .pace) {
                guard GhostSource.paces.contains(pace) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .pace, in: container, debugDescription: "120 to 1,800 s/km")
                }
                source = .pace(pace)
                return
            }
            source = .session(
                try container.decodeIfPresent(User.self, forKey: .user),
                try container.decode(SessionID.self, forKey: .session))
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: GhostKey.self)
            switch source {
            case .pace(let pace): try container.encode(pace, forKey: .pace)
            case .session(let user, let session):
                try container.encodeIfPresent(user, forKey: .user)
                try container.encode(session, forKey: .session)
            }
        }
    }
}

extension VirtualRunRequest.Action {
    /// The `type` on the wire.
    package var name: String {
        switch self {
        case .create: "create"
        case .invite: "invite"
        case .remove: "remove"
        case .begin: "begin"
        case .cancel: "cancel"
        case .accept: "accept"
        case .decline: "decline"
        case .confirm: "confirm"
        case .leave: "leave"
        case .share: "share"
        case .keepWaiting: "keepWaiting"
        case .show: "show"
        case .routes: "routes"
        case .runs: "runs"
        case .addContact: "addContact"
        case .removeContact: "removeContact"
        case .block: "block"
        case .unblock: "unblock"
        case .setInvites: "setInvites"
        }
    }
}
