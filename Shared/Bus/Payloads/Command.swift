import Foundation
package import Workouts

/// A client's command for a session, on `command`.
package struct Command: Equatable, Sendable {
    /// Identifies the command. A repetition with the same id receives the stored reply.
    package var id: CommandID
    /// The reader of the reply; `nil` if nothing reads it.
    package var client: Client?
    /// The time of the event; defaults to the engine's clock.
    package var at: Timestamp?
    package var action: SessionAction

    package init(id: CommandID, client: Client?, at: Timestamp? = nil, action: SessionAction) {
        self.id = id
        self.client = client
        self.at = at
        self.action = action
    }

    /// The part of a command that a reply requires. It is decoded even if the rest is invalid.
    package struct Envelope: Decodable, Hashable, Sendable {
        package var id: CommandID
        package var client: Client?

        package init(id: CommandID, client: Client?) {
            self.id = id
            self.client = client
        }
    }

    package var envelope: Envelope { Envelope(id: id, client: client) }
}

extension Command: Codable {
    private enum Key: String, CodingKey {
        case id, client, at, type, streams
        case activity, environment, name, mode, countdown, startAt, endAt, units, timeZone, permissions, place, replace,
            run, notSynced, poolLength
        case definition, device
        case item, set, round, repetitions, weight, time, alternative, difficulty, presentationMode
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        at = try container.number(Timestamp.self, forKey: .at)
        let type = try container.decode(String.self, forKey: .type)
        guard let kind = SessionAction.Kind(rawValue: type) else {
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "unknown command \"\(type.prefix(40))\"")
        }
        func item() throws -> String? { try container.decodeIfPresent(String.self, forKey: .item) }
        func set() throws -> SetReference {
            SetReference(
                item: try item(), set: try container.wholeNumber(forKey: .set),
                round: try container.wholeNumber(forKey: .round))
        }
        switch kind {
        case .start: action = .start(try Self.start(container))
        case .deviceReady: action = .deviceReady(try container.decode(Device.self, forKey: .device))
        case .pause: action = .pause
        case .resume: action = .resume
        case .lap: action = .lap
        case .suspend: action = .suspend
        case .discard: action = .discard
        case .recover: action = .recover
        case .update:
            action = .update(
                SessionUpdate(
                    units: try container.decodeIfPresent(Units.self, forKey: .units),
                    timeZone: try Self.timeZone(container)))
        case .end: action = .end(streams: try Self.streams(container))
        case .completeSet:
            action = .plan(
                .completeSet(
                    SetCompletion(
                        try set(), repetitions: try container.wholeNumber(forKey: .repetitions),
                        weight: try container.number(Double.self, forKey: .weight),
                        time: try container.number(Double.self, forKey: .time))))
        case .uncompleteSet: action = .plan(.uncompleteSet(try set()))
        case .skipExercise: action = .plan(.skipExercise(item: try item()))
        case .flagPain: action = .plan(.flagPain(item: try item()))
        case .swapExercise:
            let alternative = try container.decodeIfPresent(String.self, forKey: .alternative)
            action = .plan(.swapExercise(item: try item(), alternative: alternative))
        case .adjustDifficulty:
            action = .plan(
                .adjustDifficulty(item: try item(), try container.decode(Difficulty.self, forKey: .difficulty)))
        case .goTo: action = .plan(.goTo(item: try container.decode(String.self, forKey: .item)))
        case .setPresentationMode:
            let mode = try container.decode(PlanProgress.PresentationMode.self, forKey: .presentationMode)
            action = .plan(.setPresentationMode(mode))
        }
    }

    private static func start(_ container: KeyedDecodingContainer<Key>) throws -> SessionStart {
        var start = SessionStart(
            activity: try activity(container),
            environment: try container.decodeIfPresent(Environment.self, forKey: .environment),
            name: try checked(container, .name, SessionStart.nameRule, SessionStart.isName),
            mode: try container.decodeIfPresent(Mode.self, forKey: .mode),
            countdown: try checked(container, .countdown, "0 to 600 s") { (0...600).contains($0) },
            startAt: try container.number(Timestamp.self, forKey: .startAt),
            units: try container.decodeIfPresent(Units.self, forKey: .units),
            timeZone: try timeZone(container))
        start.definition = try WorkoutDefinition.checked(container, .definition)
        start.endAt = try container.number(Timestamp.self, forKey: .endAt)
        start.permissions = try container.decodeIfPresent(Permissions.self, forKey: .permissions)
        start.place = try checked(container, .place, "la -90 to 90 and lo -180 to 180") { (place: Place) in
            place.isOnEarth
        }
        start.poolLength = try checked(container, .poolLength, "5 to 200 m") { SessionStart.poolLengths.contains($0) }
        start.run = try container.decodeIfPresent(RunID.self, forKey: .run)
        start.notSynced = try container.decodeIfPresent(SessionID.self, forKey: .notSynced)
        start.replace = try container.decodeIfPresent(Bool.self, forKey: .replace) ?? false
        return start
    }

    /// The named activity, else the one that the planned workout implies.
    private static func activity(_ container: KeyedDecodingContainer<Key>) throws -> Activity {
        if let activity = try container.decodeIfPresent(Activity.self, forKey: .activity) { return activity }
        return try WorkoutDefinition.checked(container, .definition)?.activity ?? .other
    }

    private static func encode(_ action: PlanAction, _ container: inout KeyedEncodingContainer<Key>) throws {
        func encode(_ reference: SetReference) throws {
            try container.encodeIfPresent(reference.item, forKey: .item)
            try container.encodeIfPresent(reference.set, forKey: .set)
            try container.encodeIfPresent(reference.round, forKey: .round)
        }
        switch action {
        case .completeSet(let completion):
            try encode(completion.reference)
            try container.encodeIfPresent(completion.repetitions, forKey: .repetitions)
            try container.encodeIfPresent(completion.weight, forKey: .weight)
            try container.encodeIfPresent(completion.time, forKey: .time)
        case .uncompleteSet(let reference): try encode(reference)
        case .skipExercise(let item), .flagPain(let item): try container.encodeIfPresent(item, forKey: .item)
        case .swapExercise(let item, let alternative):
            try container.encodeIfPresent(item, forKey: .item)
            try container.encodeIfPresent(alternative, forKey: .alternative)
        case .adjustDifficulty(let item, let difficulty):
            try container.encodeIfPresent(item, forKey: .item)
            try container.encode(difficulty, forKey: .difficulty)
        case .goTo(let item): try container.encode(item, forKey: .item)
        case .setPresentationMode(let mode): try container.encode(mode, forKey: .presentationMode)
        }
    }

    private static func timeZone(_ container: KeyedDecodingContainer<Key>) throws -> String? {
        guard let zone = try container.decodeIfPresent(String.self, forKey: .timeZone) else { return nil }
        guard TimeZone.isIANA(zone) else {
            throw DecodingError.dataCorruptedError(
                forKey: .timeZone, in: container, debugDescription: "expected an IANA time zone")
        }
        return zone
    }

    private static func streams(_ container: KeyedDecodingContainer<Key>) throws -> [StreamName: Int] {
        let range = "at most \(SessionAction.streamLimit) streams of up to \(StreamLimits.items) items each"
        return try checked(container, .streams, range) { (streams: [StreamName: Int]) in
            streams.count <= SessionAction.streamLimit
                && streams.values.allSatisfy { (0...StreamLimits.items).contains($0) }
        } ?? [:]
    }

    private static func checked<Value: Decodable>(
        _ container: KeyedDecodingContainer<Key>, _ key: Key, _ range: String, _ isAllowed: (Value) -> Bool
    ) throws -> Value? {
        guard let value = try container.number(Value.self, forKey: key) else { return nil }
        guard isAllowed(value) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: range)
        }
        return value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        try container.encodeIfPresent(at, forKey: .at)
        try container.encode(action.name, forKey: .type)
        switch action {
        case .start(let start):
            try container.encode(start.activity, forKey: .activity)
            try container.encodeIfPresent(start.environment, forKey: .environment)
            try container.encodeIfPresent(start.name, forKey: .name)
            try container.encodeIfPresent(start.mode, forKey: .mode)
            try container.encodeIfPresent(start.countdown, forKey: .countdown)
            try container.encodeIfPresent(start.startAt, forKey: .startAt)
            try container.encodeIfPresent(start.units, forKey: .units)
            try container.encodeIfPresent(start.timeZone, forKey: .timeZone)
            try container.encodeIfPresent(start.endAt, forKey: .endAt)
            try container.encodeIfPresent(start.permissions, forKey: .permissions)
            try container.encodeIfPresent(start.place, forKey: .place)
            try container.encodeIfPresent(start.poolLength, forKey: .poolLength)
            try container.encodeIfPresent(start.run, forKey: .run)
            try container.encodeIfPresent(start.notSynced, forKey: .notSynced)
            try container.encodeIfPresent(start.definition, forKey: .definition)
            if start.replace { try container.encode(true, forKey: .replace) }
        case .deviceReady(let device): try container.encode(device, forKey: .device)
        case .end(let streams): try container.encode(streams, forKey: .streams)
        case .update(let update):
            try container.encodeIfPresent(update.units, forKey: .units)
            try container.encodeIfPresent(update.timeZone, forKey: .timeZone)
        case .plan(let action): try Self.encode(action, &container)
        case .pause, .resume, .lap, .suspend, .discard, .recover: break
        }
    }
}
