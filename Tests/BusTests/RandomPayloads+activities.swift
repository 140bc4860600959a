import Bus
import TestSupport
import Workouts

extension SeededRandom {
    /// What is said of Live Activities.
    mutating func activityPayloads(of key: SessionKey) -> [AsyncAPIDocument.Payload] {
        let token = String(repeating: "0a", count: .random(in: 16...256, using: &self))
        let actions: [ActivityRegistration.Action] = [
            .register(token: token, kind: .activity, environment: .production),
            .register(token: token, kind: .start, environment: .sandbox), .withdraw,
        ]
        let registrations = actions.map {
            ActivityRegistration(id: identifier(), client: name(), device: name(), action: $0)
        }
        let statuses = ActivityStatus.Status.allCases.map { status in
            ActivityStatus(
                key: key, revision: revision(), status: status,
                devices: (0..<Int.random(in: 0...8, using: &self)).map { _ in .init(device: name(), status: status) },
                reason: maybe("Unregistered"))
        }
        return registrations.map { .init(channel: "activityRegister", bytes: JSONCoding.encode($0)) }
            + statuses.map { .init(channel: "activity", bytes: JSONCoding.encode($0)) }
    }
}
