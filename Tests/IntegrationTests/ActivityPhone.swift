import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// A phone with a session's Live Activity, which a push begins.
struct ActivityPhone {
    private let key: SessionKey
    private let password: Secret
    private let system: ComposeSystem
    private let observer: BusObserver
    private let apns: APNsServer

    init(
        _ key: SessionKey, _ password: Secret, _ system: ComposeSystem, _ observer: BusObserver, _ apns: APNsServer
    ) {
        (self.key, self.password, self.system, self.observer, self.apns) = (key, password, system, observer, apns)
    }

    private func token(_ kind: ActivityRegistration.TokenKind) -> String {
        String(repeating: kind == .start ? "a1" : "b2", count: 32)
    }

    private func pushes(_ kind: ActivityRegistration.TokenKind) throws -> [APNsServer.Payload.APS] {
        try apns.requests.filter { $0.device == token(kind) }.compactMap { $0.payload?.aps }
    }

    private func register(_ kind: ActivityRegistration.TokenKind) async throws {
        let person = Person(key.user, password, port: try system.port)
        try await AccountClient.run([person.account], subscribedTo: ["pacebus/v1/u/\(key.user)/replies/+"]) {
            let isRegistered = try await eventually {
                let registration = ActivityRegistration(
                    id: CommandID(UUID()), client: Client("tests")!, device: Device("phone-1")!,
                    action: .register(token: token(kind), kind: kind, environment: .sandbox))
                let message = Topic.session(key, .activityRegister).message(JSONCoding.encode(registration))
                return try await person.ask([(registration.id, message)])[registration.id]?.ok == true
            }
            try #require(isRegistered)
        }
    }

    private func wait(for statuses: Set<ActivityStatus.Status>) async throws {
        _ = try await observer.wait(for: Topic.session(key, .activity).name) { payload in
            (try? JSONCoding.decode(ActivityStatus.self, from: payload)).map { statuses.contains($0.status) } ?? false
        }
    }

    /// Lets the publisher begin the activity, and returns when the success of its push is stored.
    func start() async throws {
        _ = try await observer.wait(for: Topic.session(key, .state).name)
        try await register(.start)
        try await wait(for: [.active])
    }

    /// Reports the activity's own token, and waits for a push to it.
    func show() async throws {
        try await register(.activity)
        #expect(try await eventually { try !pushes(.activity).isEmpty })
    }

    /// Waits for the activity's end, which no push follows.
    func expectEnd() async throws {
        try await wait(for: [.ended, .dismissed])
        #expect(try pushes(.start).map(\.event) == ["start"])
        let shown = try pushes(.activity)
        #expect(shown.map(\.event).dropLast().allSatisfy { $0 == "update" })
        #expect(shown.last?.event == "end" && shown.last?.contentState.isFinished == true)
        #expect(zip(shown, shown.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
    }
}
