package import Workouts

/// A user's saved workout definitions, on `plans`.
package struct SavedPlans: Codable, Equatable, Sendable {
    package struct Plan: Codable, Equatable, Sendable {
        package var plan: PlanID
        package var savedAt: Timestamp
        package var definition: WorkoutDefinition

        package init(plan: PlanID, savedAt: Timestamp, definition: WorkoutDefinition) {
            self.plan = plan
            self.savedAt = savedAt
            self.definition = definition
        }
    }

    /// Bytes that all of them may take, so that they fit a payload.
    package static let bytes = 224 * 1_024
    package static let limit = 100

    package var revision: Int64
    /// The one that was saved last comes last.
    package var plans: [Plan]

    package init(revision: Int64, plans: [Plan]) {
        self.revision = revision
        self.plans = plans
    }
}

extension WorkoutDefinition {
    /// Decodes a definition and holds it against what can be carried out; an error names the field.
    static func checked<Key: CodingKey>(
        _ container: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> WorkoutDefinition? {
        guard let definition = try container.number(WorkoutDefinition.self, forKey: key) else { return nil }
        if let error = definition.validationError {
            throw DecodingError.dataCorrupted(
                .init(codingPath: container.codingPath, debugDescription: "\(key.stringValue).\(error)"))
        }
        return definition
    }

    /// Reads a definition that stands by itself, in a file.
    package init(file: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(WorkoutDefinition.self, from: file)
        if let validationError { throw .malformed(validationError) }
    }
}
