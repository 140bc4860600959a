import Foundation
package import Workouts

/// A request on `u/{user}/request`.
package struct UserRequest: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        /// Replaces the profile.
        case setProfile(Profile)
        /// A page of the history.
        case workouts(HistoryQuery)
        /// The changes of workouts after a cursor; from 0 all workouts.
        case workoutChanges(after: ChangeCursor)
        /// Saves a planned workout and replaces the one with the same id; with a base only that version.
        case savePlan(PlanID, WorkoutDefinition, base: SavedPlans.Version? = nil)
        case deletePlan(PlanID, base: SavedPlans.Version? = nil)
        /// Changes a finished workout. No command, because viewers read commands and not the note or the weight.
        case edit(SessionID, SessionEdit)
        case deleteWorkout(SessionID)
        case deleteEverything
    }

    package var id: CommandID
    /// The reader of the reply; `nil` if nothing reads it.
    package var client: Client?
    package var action: Action

    package init(id: CommandID, client: Client?, action: Action) {
        self.id = id
        self.client = client
        self.action = action
    }

    package var envelope: Command.Envelope { Command.Envelope(id: id, client: client) }
}

extension UserRequest: Codable {
    private enum Key: String, CodingKey {
        case id, client, type, profile, session, plan, definition, base
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        switch try container.decode(String.self, forKey: .type) {
        case "setProfile":
            guard let profile = try container.number(Profile.self, forKey: .profile) else {
                throw DecodingError.keyNotFound(
                    Key.profile, .init(codingPath: container.codingPath, debugDescription: "missing"))
            }
            if let zone = profile.timeZone, !TimeZone.isIANA(zone) {
                throw DecodingError.dataCorruptedError(
                    forKey: .profile, in: container,
                    debugDescription: "timeZone: expected an IANA time zone")
            }
            action = .setProfile(profile)
        case "workouts":
            switch try HistoryRequest(from: decoder) {
            case .page(let query): action = .workouts(query)
            case .changes(let cursor): action = .workoutChanges(after: cursor)
            }
        case "savePlan":
            let plan = try container.decode(PlanID.self, forKey: .plan)
            guard let definition = try WorkoutDefinition.checked(container, .definition) else {
                throw DecodingError.keyNotFound(
                    Key.definition, .init(codingPath: container.codingPath, debugDescription: "missing"))
            }
            action = .savePlan(plan, definition, base: try container.number(SavedPlans.Version.self, forKey: .base))
        case "deletePlan":
            action = .deletePlan(
                try container.decode(PlanID.self, forKey: .plan),
                base: try container.number(SavedPlans.Version.self, forKey: .base))
        case "edit":
            action = .edit(try container.decode(SessionID.self, forKey: .session), try SessionEdit(from: decoder))
        case "deleteWorkout": action = .deleteWorkout(try container.decode(SessionID.self, forKey: .session))
        case "deleteEverything": action = .deleteEverything
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "unknown request \"\(type.prefix(40))\"")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        switch action {
        case .setProfile(let profile):
            try container.encode("setProfile", forKey: .type)
            try container.encode(profile, forKey: .profile)
        case .workouts(let query):
            try container.encode("workouts", forKey: .type)
            try query.encode(to: encoder)
        case .workoutChanges(let cursor):
            try container.encode("workouts", forKey: .type)
            try HistoryRequest.changes(after: cursor).encode(to: encoder)
        case .savePlan(let plan, let definition, let base):
            try container.encode("savePlan", forKey: .type)
            try container.encode(plan, forKey: .plan)
            try container.encode(definition, forKey: .definition)
            try container.encodeIfPresent(base, forKey: .base)
        case .deletePlan(let plan, let base):
            try container.encode("deletePlan", forKey: .type)
            try container.encode(plan, forKey: .plan)
            try container.encodeIfPresent(base, forKey: .base)
        case .edit(let session, let edit):
            try container.encode("edit", forKey: .type)
            try container.encode(session, forKey: .session)
            try edit.encode(to: encoder)
        case .deleteWorkout(let session):
            try container.encode("deleteWorkout", forKey: .type)
            try container.encode(session, forKey: .session)
        case .deleteEverything: try container.encode("deleteEverything", forKey: .type)
        }
    }
}
