import Foundation
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

    /// The version of a plan that a change is based on.
    package struct Version: Codable, Hashable, Sendable {
        /// `nil` if there was no such plan.
        package var savedAt: Timestamp?

        package init(savedAt: Timestamp?) { self.savedAt = savedAt }
    }

    package var revision: Int64
    /// The plans in the order in which they were saved.
    package var plans: [Plan]

    package init(revision: Int64, plans: [Plan]) {
        self.revision = revision
        self.plans = plans
    }
}

extension Refusal {
    /// The saved plan is another version than the one that the change is based on.
    package static let planChanged = Refusal(
        code: "plan_changed",
        message: "the plan was saved or deleted elsewhere since it was read; read it again before you change it")
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

    /// Decodes a definition that a person wrote. Unknown fields are errors, because they are most likely typing mistakes;
    /// readers of the bus ignore them.
    package init(file: some Sequence<UInt8>) throws(PayloadError) {
        let bytes = Array(file)
        self = try JSONCoding.decode(WorkoutDefinition.self, from: bytes)
        if let validationError { throw .malformed(validationError) }
        if let field = Self.unknown(Self.json(bytes), Self.json(JSONCoding.encode(self))) {
            throw .malformed("\(field.prefix(80)): unknown field; correct its name or remove it")
        }
    }

    private static func json(_ bytes: [UInt8]) -> Any? { try? JSONSerialization.jsonObject(with: Data(bytes)) }

    /// The first field that definitions do not have.
    private static func unknown(_ written: Any?, _ known: Any?) -> String? {
        if let written = written as? [String: Any] {
            let known = known as? [String: Any] ?? [:]
            for (key, value) in written.sorted(by: { $0.key < $1.key }) where !(value is NSNull) {
                guard let other = known[key] else { return key }
                if let field = unknown(value, other) { return field.hasPrefix("[") ? key + field : "\(key).\(field)" }
            }
        }
        guard let written = written as? [Any], let known = known as? [Any] else { return nil }
        for (index, (value, other)) in zip(written, known).enumerated() {
            if let field = unknown(value, other) {
                return field.hasPrefix("[") ? "[\(index)]\(field)" : "[\(index)].\(field)"
            }
        }
        return nil
    }
}
