import AsyncAlgorithms
import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Synchronization
import Workouts

/// Checks passwords by connecting to the broker with them, and asks it on that connection whom the account may see.
///
/// A password is sent to the broker and nowhere else.
struct BrokerAccounts: Sendable {
    enum Answer: Equatable, Sendable {
        /// The password is right; the users whose `current` arrived.
        case accepted(Set<User>)
        /// The password is wrong, or the account is gone.
        case refused
        /// The broker did not answer.
        case unavailable
    }

    /// The broker's reasons for a refused login, of MQTT 3.1.1 and 5.
    static let refusals: Set<UInt8> = [0x04, 0x05, 0x86, 0x87]
    private let settings: MQTTConfiguration
    private let clock: any WallClock
    private let timeout: Duration
    private let window: Duration

    /// - Parameters:
    ///   - settings: those of the service's own connection.
    ///   - timeout: the longest time for an answer.
    ///   - window: how long after SUBACK retained messages count.
    init(
        settings: MQTTConfiguration, clock: any WallClock, timeout: Duration = .seconds(4),
        window: Duration = .milliseconds(500)
    ) {
        self.settings = settings
        self.clock = clock
        self.timeout = timeout
        self.window = window
    }

    /// Connects once.
    func ask(_ credential: RightsProbes.Credential) async -> Answer {
        let client = MQTTClient(configuration: settings(for: credential, client: "login"), logger: Self.silent)
        return await withTaskGroup(of: Answer.self) { tasks in
            tasks.addTask {
                do {
                    try await client.run()
                } catch MQTTError.refused(let reason, _) where Self.refusals.contains(reason) {
                    return .refused
                } catch {}
                return .unavailable
            }
            tasks.addTask { await readCurrents(client, of: credential.account) }
            tasks.addTask { [clock, timeout] in
                try? await clock.wait(for: timeout)
                return .unavailable
            }
            let answer = await tasks.next() ?? .unavailable
            tasks.cancelAll()
            return answer
        }
    }

    private func readCurrents(_ client: MQTTClient, of account: AccountName) async -> Answer {
        // The operator sees everyone.
        let subscriptions = account == .operators ? [] : [TopicFilter.users(.current)]
        let answer = try? await client.withSubscriptions(subscriptions) { events in
            var seen = Set([account.user].compactMap(\.self))
            var isConnected = false
            let end = AsyncChannel<Void>()
            return await withTaskGroup(of: Void.self) { tasks in
                defer { tasks.cancelAll() }
                for await event in merge(events.map { MQTTEvent?.some($0) }, end.map { MQTTEvent?.none }) {
                    switch event {
                    case .connected where account == .operators: return Answer.accepted([])
                    case .connected where !isConnected:
                        isConnected = true
                        tasks.addTask { [clock, window] in
                            try? await clock.wait(for: window)
                            await end.send(())
                        }
                    case .batch(let batch):
                        seen.formUnion(batch.messages.compactMap { Self.user($0) })
                        batch.acknowledge()
                    case .disconnected: return Answer.unavailable
                    case .none: return Answer.accepted(seen)
                    default: break
                    }
                }
                return Answer.unavailable
            }
        }
        return answer ?? .unavailable
    }

    private static func user(_ message: MQTTMessage) -> User? {
        guard !message.payload.isEmpty, case .user(let user, .current)? = Topic(message.topic) else { return nil }
        return user
    }

    /// The settings of a connection with the person's own rights.
    func settings(for credential: RightsProbes.Credential, client: String) -> MQTTConfiguration {
        var mqtt = MQTTConfiguration(clientID: ProcessName.unique(prefix: "dashboard-\(client)").description)
        mqtt.host = settings.host
        mqtt.port = settings.port
        mqtt.version = settings.version
        // The service's certificate would be another identity.
        mqtt.tls = settings.tls.map { MQTTConfiguration.TLS(caFile: $0.caFile) }
        mqtt.username = credential.account.description
        mqtt.password = credential.password
        mqtt.endsWhenRefused = true
        mqtt.batchInterval = .milliseconds(1)
        mqtt.backoffMaximum = .seconds(2)
        return mqtt
    }

    /// A wrong password is no event of the service; the client would log it as an error.
    static let silent = Logger(label: "login") { _ in SwiftLogNoOpLogHandler() }
}
