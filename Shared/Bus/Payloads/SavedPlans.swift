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

    /// The maximum bytes of all plans, so that they fit a payload.
    package static let bytes = 224 * 1_024
    package static let limit = 100

    package var revision: Int64
    /// In the order of saving.
    package var plans: [Plan]

    package init(revision: Int64, plans: [Plan]) {
        self.revision = revision
        self.plans = plans
    }
}

extension WorkoutDefinition {
    /// Decodes and validates a definition. The error names the field.
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

    /// Decodes a definition from a file.
    package init(file: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(WorkoutDefinition.self, from: file)
        if let validationError { throw .malformed(validationError) }
    }
}
