package import Workouts

/// An absent field stays as it is, and `null` undoes it.
extension SessionEdit: Codable {
    private enum Key: String, CodingKey {
        case name, activity, environment, note, exertion, trimStart, trimEnd, weight, maximumHeartRate
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func field<Value: Decodable>(
            _ key: Key, _ range: String = "", _ isAllowed: (Value) -> Bool = { _ in true }
        ) throws -> FieldEdit<Value> {
            guard container.contains(key) else { return .keep }
            guard let value = try container.number(Value.self, forKey: key) else { return .undo }
            guard isAllowed(value) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: range)
            }
            return .set(value)
        }
        self.init()
        name = try field(.name, SessionStart.nameRule, SessionStart.isName)
        activity = try field(.activity)
        environment = try field(.environment)
        note = try field(
            .note, "at most \(Self.noteLimit) characters, with line breaks and tabs but no other control characters"
        ) { note in
            note.utf8.count <= Self.noteBytes && note.count <= Self.noteLimit
                && note.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || !$0.isControl }
        }
        if note == .set("") { note = .undo }
        let exertion: FieldEdit<Double> = try field(.exertion, "a whole number from 1 to 10") { exertion in
            Int(exactly: exertion).map(Self.exertions.contains) ?? false
        }
        self.exertion = exertion.map { Int($0) }
        trimStart = try field(.trimStart)
        trimEnd = try field(.trimEnd)
        weight = try field(.weight, "20 to 400 kg") { (20...400).contains($0) }
        maximumHeartRate = try field(.maximumHeartRate, "80 to 250") { (80...250).contains($0) }
        guard isEmpty else { return }
        throw DecodingError.dataCorruptedError(
            forKey: .name, in: container,
            debugDescription: "an edit has at least one of name, activity, environment, note, exertion, trimStart, "
                + "trimEnd, weight and maximumHeartRate")
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        func encode<Value: Encodable>(_ field: FieldEdit<Value>, _ key: Key) throws {
            switch field {
            case .keep: break
            case .undo: try container.encodeNil(forKey: key)
            case .set(let value): try container.encode(value, forKey: key)
            }
        }
        try encode(name, .name)
        try encode(activity, .activity)
        try encode(environment, .environment)
        try encode(note, .note)
        try encode(exertion, .exertion)
        try encode(trimStart, .trimStart)
        try encode(trimEnd, .trimEnd)
        try encode(weight, .weight)
        try encode(maximumHeartRate, .maximumHeartRate)
    }
}
