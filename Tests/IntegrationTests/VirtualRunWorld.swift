import Bus
import Foundation
import MQTT
import TestSupport
import Workouts

/// Services and people of virtual runs on a broker as `compose/up` starts it, with the real rules and accounts. Each
/// account receives everything that it may read.
final class VirtualRunWorld {
    /// Accounts with requests of their own.
    let people: [Person]
    /// Views the second person.
    let viewer: AccountClient
    private let compose: ComposeFolder
    private let broker: ComposeFolder.Broker
    private var passwords: [User: Secret] = [:]
    private var services: [String: ChildProcess] = [:]
    private var devices: [User: ChildProcess] = [:]

    init(people names: [String], services: [String]) async throws {
        compose = try ComposeFolder()
        for name in names { passwords[User(name)!] = try await compose.addAccount(name) }
        // Whom people invite who never come: a name without an account is refused.
        for name in ["dora", "eve"] where !names.contains(name) { _ = try await compose.addAccount(name) }
        let viewerPassword = try await compose.addAccount("viewer", "--viewer-of", names[1])
        try await compose.needAccounts()
        let broker = try await compose.startBroker()
        self.broker = broker
        viewer = AccountClient("viewer", viewerPassword, port: broker.port)
        people = names.map { User($0)! }.map { [passwords] in Person($0, passwords[$0]!, port: broker.port) }
        for service in services { try start(service) }
    }

    deinit {
        for process in Array(devices.values) + Array(services.values) { process.end(SIGTERM) }
        broker.process.end(SIGTERM)
    }

    func run(_ body: (VirtualRunWorld) async throws -> Void) async throws {
        try await AccountClient.run(people.map(\.account) + [viewer], subscribedTo: ["pacebus/v1/#"]) {
            try await body(self)
        }
    }

    /// `kill -9`: a watch that is gone.
    func loseDevice(of user: User) { devices[user]?.end(SIGKILL) }

    private func start(_ service: String) throws { services[service] = try compose.start(service, on: broker) }

    /// `kill -9` and immediately a new process on the same store.
    func kill(_ service: String) throws {
        services[service]?.end(SIGKILL)
        try start(service)
    }

    /// Starts a simulated runner, who confirms and runs until ``endRun(of:)``.
    func simulate(_ user: User, in run: RunID) throws {
        let password = try compose.folder.write(passwords[user]!.value, to: "\(user).password")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
        devices[user] = try Installation.run(
            "device",
            [
                "simulate", "--virtual-run", "\(run)", "--device", "watch-1", "--seed", "7", "--queue-folder",
                compose.folder.file("queue"), "--mqtt-url", "mqtt://\(user)@127.0.0.1:\(broker.port)",
            ], environment: ["MQTT_PASSWORD_FILE=\(password)"], log: compose.folder.file("\(user).log"))
    }

    /// Ends a runner's session, and returns the device's exit status.
    func endRun(of user: User) async -> Int32? {
        devices[user]?.send(SIGINT)
        return await devices[user]?.finish()
    }

    func log(of name: String) -> String {
        (try? String(contentsOfFile: compose.folder.file("\(name).log"), encoding: .utf8)) ?? ""
    }

    /// Connects as a user again, and returns the topics of retained messages of a run once the view is among them.
    func retained(of person: Person, in run: RunID) async throws -> Set<String> {
        let again = Person(person.user, passwords[person.user]!, port: broker.port)
        return try await AccountClient.run([again.account], subscribedTo: ["pacebus/v1/#"]) {
            _ = await eventually { again.account.retained.contains(Topic.user(again.user, .virtualRun(run)).name) }
            return again.account.retained.filter { $0.contains("\(run)") }
        }
    }
}

extension Person {
    /// A request to virtual-run. It goes out twice: the second one changes nothing.
    func ask(_ run: RunID?, _ action: VirtualRunRequest.Action) async throws -> Reply {
        let request = VirtualRunRequest(
            id: CommandID(UUID()), client: Client("tests")!, run: run, action: action)
        let message = Topic.user(user, .virtualRunRequest).message(JSONCoding.encode(request))
        let reply = try await ask([(request.id, message), (request.id, message)])[request.id]
        guard let reply else { throw BusObserver.Unseen(topic: "reply to \(action.name)") }
        return reply
    }

    /// The code of a request's refusal; `nil` if it is accepted.
    func refusal(_ run: RunID?, _ action: VirtualRunRequest.Action) async throws -> String? {
        try await ask(run, action).error?.code
    }

    /// All messages of a run to this user, by topic.
    func messages(of run: RunID) -> [String: [[UInt8]]] {
        let topics = account.live.union(account.retained).filter { $0.contains("\(run)") }
        return Dictionary(uniqueKeysWithValues: topics.map { ($0, account.payloads($0)) })
    }

    func view(of run: RunID) -> VirtualRunView? { decoded(VirtualRunView.self, .virtualRun(run)).last }

    func partners(in run: RunID) -> [Partners] { decoded(Partners.self, .partners(run)) }

    func positions(in run: RunID) -> RunPositions? { decoded(RunPositions.self, .partnerPositions(run)).last }

    func cues(in run: RunID) -> [Announcement] { decoded(Announcement.self, .virtualRunAnnouncements(run)) }

    private func decoded<Value: Decodable>(_ type: Value.Type, _ topic: UserTopic) -> [Value] {
        account.payloads(Topic.user(user, topic).name).compactMap { try? JSONCoding.decode(type, from: $0) }
    }
}
