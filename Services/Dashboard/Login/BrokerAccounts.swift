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
        /// The password is right. If the broker does not publish the account's rights, those are the users whose `current`
        /// arrived.
        case accepted(AccountRights)
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

    /// - Parameters:
    ///   - settings: those of the service's own connection.
    ///   - timeout: the longest time for an answer.
    init(settings: MQTTConfiguration, clock: any WallClock, timeout: Duration = .seconds(4)) {
        self.settings = settings
        self.clock = clock
        self.timeout = timeout
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
            tasks.addTask { await readRights(client, of: credential.account) }
            tasks.addTask { [clock, timeout] in
                try? await clock.wait(for: timeout)
                return .unavailable
            }
            let answer = await tasks.next() ?? .unavailable
            tasks.cancelAll()
            return answer
        }
    }

    /// The broker confirms a repeated subscription after the retained messages of the first ones.
    private func readRights(_ client: MQTTClient, of account: AccountName) async -> Answer {
        // The operator sees everyone.
        let rights = account.user.map { [TopicFilter.topic(.account($0))] } ?? []
        // Of QoS 1 messages the broker sends only the first before their PUBACKs.
        let current = MQTTSubscription(filter: TopicFilter.users(.current).filter, qos: .atMostOnce)
        let answer = try? await client.withSubscriptions(rights.isEmpty ? [] : rights + [current]) { events in
            var seen = Set([account.user].compactMap(\.self))
            for await event in events {
                switch event {
                case .connected where rights.isEmpty: return Answer.accepted(AccountRights(seen: []))
                case .connected: client.setSubscriptions(rights + [current], renewing: Set(rights))
                case .batch(let batch):
                    if let rights = batch.messages.lazy.compactMap({ AccountRights($0, of: account) }).first {
                        return Answer.accepted(rights)
                    }
                    seen.formUnion(batch.messages.compactMap { Self.user($0) })
                    batch.acknowledge()
                case .subscribed: return Answer.accepted(AccountRights(seen: seen))
                case .disconnected: return Answer.unavailable
                }
            }
            return Answer.unavailable
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
        let partitions = settings.partitions
        let broker = partitions[Partition.index(of: credential.account.description, among: partitions.count)]
        mqtt.host = broker.host
        mqtt.port = broker.port
        mqtt.version = settings.version
        // The service's certificate would be another identity.
        mqtt.tls = settings.tls.map { MQTTConfiguration.TLS(caFile: $0.caFile) }
        mqtt.username = credential.account.description
        mqtt.password = credential.password
        // A press waits on it: a silent connection ends within 10 s.
        mqtt.keepAlive = .seconds(5)
        mqtt.endsWhenRefused = true
        mqtt.batchInterval = .milliseconds(1)
        mqtt.backoffMaximum = .seconds(2)
        return mqtt
    }

    /// A wrong password is no event of the service; the client would log it as an error.
    static let silent = Logger(label: "login") { _ in SwiftLogNoOpLogHandler() }
}
