import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// The rights of each account, on a real broker with the real access rules and with accounts added by the real
/// commands.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct AccessTests {
    @Test func `each account reads and writes exactly the topics that the design allows`() async throws {
        let (anna, bob, carl) = (try #require(User("anna")), try #require(User("bob")), try #require(User("carl")))
        let (annasCoach, coach) = (try #require(User("annas-coach")), try #require(User("coach")))
        let compose = try ComposeFolder()
        let people = [
            (try await compose.addAccount("anna"), AccessRights.Account.user(anna), "anna"),
            (try await compose.addAccount("bob"), .user(bob), "bob"),
            (try await compose.addAccount("carl"), .user(carl), "carl"),
            (
                try await compose.addAccount("annas-coach", "--viewer-of", "anna"), .viewer(annasCoach, of: [anna]),
                "annas-coach"
            ),
            (
                try await compose.addAccount("coach", "--viewer-of", "carl", "anna"),
                .viewer(coach, of: [anna, carl]), "coach"
            ),
        ]
        try await compose.needAccounts("_coach", "_simulator", "_everything")
        let others: [(AccessRights.Account, String)] = [
            (.operators, "_operator"), (.coach, "_coach"), (.simulator, "_simulator"),
            (.service("session-engine"), "_session-engine"), (.service("metrics-aggregator"), "_metrics-aggregator"),
            (.service("route-builder"), "_route-builder"), (.service("weather-fetcher"), "_weather-fetcher"),
            (.service("exporter"), "_exporter"),
            (.service("live-activity-publisher"), "_live-activity-publisher"),
            (.service("virtual-run"), "_virtual-run"), (.service("importer"), "_importer"),
            (.service("dashboard"), "_dashboard"),
        ]
        // A new account is tested too.
        let known = Set((others.map(\.1) + people.map(\.2)))
        #expect(try compose.accountsWithRules().subtracting(known) == [])
        // One account for the test itself, and for each account a topic for its last message.
        try compose.addRules("\nuser _everything\ntopic readwrite #\npattern read seen/%u\n")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }

        let everything = AccountClient("_everything", try compose.password(of: "_everything"), port: broker.port)
        let accounts =
            people.map { ($0.1, AccountClient($0.2, $0.0, port: broker.port)) }
            + (try others.map { ($0.0, AccountClient($0.1, try compose.password(of: $0.1), port: broker.port)) })
        // The viewers' names are included: they are not users, and have replies only.
        let topics = AccessRights.topics(of: [anna, bob, carl, annasCoach, coach])
        let unknownTopics = [
            "pacebus/v1/u/anna", "pacebus/v1/u/anna/unknown", "pacebus/v1/u/anna/current/more", "pacebus/v1/ff/anna",
            "pacebus/v1/u/anna/viewers/annas-coach-request/more",
            "pacebus/v1/u/anna/viewers/annas-coach2/request", "pacebus/v1/ff/anna/session/unknown",
            "pacebus/v1/ff/anna/session/samples/watch/more",
            "pacebus/v2/ff/anna/session/command", "anna", "other", "$SYS/pacebus/accounts/anna",
        ]

        try await AccountClient.run([everything], subscribedTo: ["seen/none"]) {
            for topic in topics { #expect(try await everything.mayPublish(topic.name, retain: true)) }
            try await AccountClient.run(
                accounts.map(\.1),
                subscribedTo: ["pacebus/#", "seen/#", "$SYS/broker/version", "$SYS/pacebus/accounts/+"]
            ) {
                for topic in topics { #expect(try await everything.mayPublish(topic.name)) }
                for (_, client) in accounts { #expect(try await everything.mayPublish("seen/\(client.account)")) }
                for (rights, client) in accounts {
                    let seen = "seen/\(client.account)"
                    try #require(await eventually { client.live.contains(seen) }, "\(client.account)")
                    let readable = Set(topics.filter { AccessRights.mayRead(rights, $0) }.map(\.name))
                    differ(client.live.subtracting([seen]), readable, "\(client.account) reads")
                    var system: Set<String> = rights == .operators ? ["$SYS/broker/version"] : []
                    if [.operators, .service("dashboard"), .service("virtual-run")].contains(rights) {
                        system.formUnion(people.map { "$SYS/pacebus/accounts/\($0.2)" })
                    } else if people.contains(where: { $0.1 == rights }) {
                        system.insert("$SYS/pacebus/accounts/\(client.account)")
                    }
                    differ(client.retained, readable.union(system), "\(client.account) reads, retained,")
                }
                for (rights, client) in accounts {
                    var written: Set<String> = []
                    for topic in topics.map(\.name) + unknownTopics where try await client.mayPublish(topic) {
                        written.insert(topic)
                    }
                    let writable = Set(topics.filter { AccessRights.mayWrite(rights, $0) }.map(\.name))
                    differ(written, writable, "\(client.account) writes")
                }
            }
        }
    }

    /// Reports only the differences, because the sets are long.
    private func differ(_ found: Set<String>, _ expected: Set<String>, _ access: String) {
        #expect(found.subtracting(expected).sorted() == [], "\(access) forbidden topics")
        #expect(expected.subtracting(found).sorted() == [], "\(access) too few topics")
    }

    @Test func `a running broker accepts a new account at once and disconnects a removed one with its viewers`()
        async throws
    {
        let compose = try ComposeFolder()
        let bob = try await compose.addAccount("bob")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let trust = MQTTConfiguration.TLS(caFile: compose.folder.file("data/tls/ca.crt"))

        let anna = AccountClient("anna", try await compose.addAccount("anna"), port: broker.tlsPort, tls: trust)
        let viewer = AccountClient(
            "viewer", try await compose.addAccount("viewer", "--viewer-of", "anna"), port: broker.port)
        let other = AccountClient("bob", bob, port: broker.port)
        try await AccountClient.run([anna, viewer, other], subscribedTo: ["pacebus/v1/#"]) {
            let topic = "pacebus/v1/ff/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/command"
            #expect(try await anna.mayPublish(topic))
            #expect(await eventually { viewer.live == [topic] })
            #expect(other.live == [])
            #expect(try await compose.run("user", "list") == "anna\nbob\nviewer, viewer of anna\n")
            try await compose.run("user", "remove", "anna")
            #expect(await eventually { anna.disconnects > 0 && viewer.disconnects > 0 })
            #expect(!anna.isConnected)
            #expect(!viewer.isConnected)
            #expect(other.disconnects == 0)
            #expect(try await compose.run("user", "list") == "bob\n")
        }
    }

    @Test func `a viewer has up to a hundred users, and an account of a removed one never becomes a user's`()
        async throws
    {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("anna")
        let passwords = compose.folder.file("data/broker/passwords")
        let stored = try String(contentsOfFile: passwords, encoding: .utf8)
        let line = try #require(stored.split(separator: "\n").first { $0.hasPrefix("anna:") })
        let names = (100...200).map { "user-\($0)" }
        try compose.folder.write(
            stored + names.map { $0 + line.dropFirst(4) + "\n" }.joined(), to: "data/broker/passwords")
        _ = try await compose.addAccount("coach", "--viewer-of", "anna", "user-100")
        _ = try await compose.addAccount("annas-coach", "--viewer-of", "anna")
        for name in names[1..<99] { try await compose.run("user", "viewer", "add", "coach", name) }
        let log = compose.folder.file("refused.log")
        let command = [compose.folder.file("compose/user"), "viewer", "add", "coach", names[99]]
        #expect(try await ChildProcess(command, log: log).finish() == 1)
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains("views 100 users already"))

        try await compose.run("user", "remove", "anna")
        let list = try await compose.run("user", "list")
        #expect(list.contains("coach, viewer of \(names[..<99].joined(separator: " "))\n"))
        #expect(!list.contains("anna"))
        _ = try await compose.addAccount("anna")
        _ = try await compose.addAccount("annas-coach")
        let viewers = try String(contentsOfFile: compose.folder.file("data/broker/viewers"), encoding: .utf8)
        #expect(!viewers.contains("anna"))
    }

    @Test func `purge leaves an order for session-engine, without accounts or a broker`() async throws {
        let compose = try ComposeFolder()
        let text = try await compose.run("user", "purge", "anna", "--removed", "--yes")
        #expect(text.contains("when it starts"))
        #expect(FileManager.default.fileExists(atPath: compose.folder.file("data/purge/anna")))
    }

    @Test(arguments: [
        ["add", "_engine"], ["add", "Anna"], ["add", "-anna"], ["add", "an/na"], ["add", "a+"], ["add", ""],
        ["add", String(repeating: "a", count: 65)], ["add", "x\ny"], ["add", "bob"],
        ["add", "x", "--viewer-of", "nobody"],
        ["add", "x", "--viewer-of", "viewer"], ["add", "x", "--viewer-of", "_operator"], ["remove", "_operator"],
        ["remove", "nobody"], ["add", "--viewer-of"], ["add", "x", "--viewer-of", "--viewer-of"],
        ["remove", "--viewer-of"], ["password", "nobody"], ["password", "_operator"],
        ["device", "add", "nobody", "watch"], ["device", "add", "bob", "Watch_1"],
        ["device", "add", "_operator", "watch"],
        ["device", "revoke", "bob", "watch"], ["device", "revoke", "bob", "."], ["device", "list", "bob", "watch"],
        ["add", "x", "--viewer-of", "bob", "nobody"], ["add", "x", "bob"], ["add", "x", "--viewer-of"],
        ["viewer", "add", "viewer", "bob"], ["viewer", "add", "viewer", "nobody"],
        ["viewer", "add", "viewer", "viewer"],
        ["viewer", "add", "bob", "bob"], ["viewer", "add", "nobody", "bob"], ["viewer", "add", "viewer"],
        ["viewer", "remove", "viewer", "bob"], ["viewer", "remove", "viewer", "nobody"],
        ["viewer", "list", "viewer", "bob"], ["viewer", "add", "viewer", "_operator"],
        ["purge"], ["purge", "_engine"], ["purge", "../bob"], ["purge", "nobody", "--yes"],
        ["purge", "bob", "--removed", "--yes"], ["remove", "bob", "--yes"], ["remove", "bob", "--password-file", "x"],
        ["add", "x", "--password-file"],
    ])
    func `an invalid account is refused, and nothing changes`(arguments: [String]) async throws {
        let compose = try ComposeFolder()
        _ = try await compose.addAccount("bob")
        _ = try await compose.addAccount("viewer", "--viewer-of", "bob")
        let rules = try String(contentsOfFile: compose.folder.file("data/broker/access.conf"), encoding: .utf8)
        let log = compose.folder.file("refused.log")
        let status = try await ChildProcess([compose.folder.file("compose/user")] + arguments, log: log).finish()
        #expect(status == 1)
        #expect(try String(contentsOfFile: log, encoding: .utf8).hasPrefix("compose/user: "))
        #expect(try await compose.run("user", "list") == "bob\nviewer, viewer of bob\n")
        #expect(try String(contentsOfFile: compose.folder.file("data/broker/access.conf"), encoding: .utf8) == rules)
    }
}
