import Bus
import Logging
import MQTT
import ServiceKit
import Workouts

/// Checks passwords by connecting to the broker with them. A password is sent to the broker and nowhere else.
struct PasswordCheck: Sendable {
    enum Answer: Equatable, Sendable {
        case accepted
        /// The password is wrong, or the account is gone.
        case refused
        /// The broker did not answer.
        case unavailable
    }

    /// The broker's reasons for a refused login, of MQTT 3.1.1 and 5.
    private static let refusals: Set<UInt8> = [0x04, 0x05, 0x86, 0x87]
    /// A wrong password is no event of the service; the client would log it as an error.
    private static let silent = Logger(label: "login") { _ in SwiftLogNoOpLogHandler() }

    /// The service's own connection.
    let settings: MQTTConfiguration
    let clock: any WallClock
    /// The longest time for an answer.
    var timeout = Duration.seconds(4)

    /// Connects once.
    func run(_ account: User, _ password: Secret) async -> Answer {
        let client = MQTTClient(configuration: settings(for: account, password), logger: Self.silent)
        return await withTaskGroup(of: Answer.self) { tasks in
            tasks.addTask {
                do {
                    try await client.run()
                } catch MQTTError.refused(let reason, _) where Self.refusals.contains(reason) {
                    return .refused
                } catch {}
                return .unavailable
            }
            tasks.addTask {
                let answer = try? await client.withSubscriptions([]) { events in
                    for await event in events {
                        if case .connected = event { return Answer.accepted }
                        if case .disconnected = event { break }
                    }
                    return Answer.unavailable
                }
                return answer ?? .unavailable
            }
            tasks.addTask { [clock, timeout] in
                try? await clock.wait(for: timeout)
                return .unavailable
            }
            let answer = await tasks.next() ?? .unavailable
            tasks.cancelAll()
            return answer
        }
    }

    private func settings(for account: User, _ password: Secret) -> MQTTConfiguration {
        var mqtt = MQTTConfiguration(clientID: ProcessName.unique(prefix: "dashboard-login").description)
        let broker = settings.partitions[Partition.index(of: "\(account)", among: settings.partitions.count)]
        mqtt.host = broker.host
        mqtt.port = broker.port
        mqtt.version = settings.version
        // The service's certificate would be another identity.
        mqtt.tls = settings.tls.map { MQTTConfiguration.TLS(caFile: $0.caFile) }
        mqtt.username = "\(account)"
        mqtt.password = password
        mqtt.endsWhenRefused = true
        return mqtt
    }
}
