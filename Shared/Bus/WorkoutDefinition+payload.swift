package import Workouts

extension WorkoutDefinition {
    /// Decodes a definition and holds it against what can be carried out; an error names the field.
    static func checked<Key: CodingKey>(
        _ container: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> WorkoutDefinition? {
        guard let definition = try container.number(WorkoutDefinition.self, forKey: key) else { return nil }
        if let flaw = definition.flaw {
            throw DecodingError.dataCorrupted(
                .init(codingPath: container.codingPath, debugDescription: "\(key.stringValue).\(flaw)"))
        }
        return definition
    }

    /// Reads a definition that stands by itself, in a file.
    package init(file: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(WorkoutDefinition.self, from: file)
        if let flaw { throw .malformed(flaw) }
    }
}
