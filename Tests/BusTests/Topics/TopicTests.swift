import Bus
import MQTT
import TestSupport
import Testing
import Workouts

@Suite struct TopicTests {
    private static let session = "pacebus/v1/ff/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff"
    private static let run = "pacebus/v1/u/anna/runs/6f9619ff-8b86-d011-b42d-00c04fc964ff"

    @Test func `every topic is read as written and within the limits of a name`() {
        var random = SeededRandom()
        for _ in 0..<50 {
            for topic in random.topics() {
                #expect(Topic(topic.name) == topic, "\(topic.name)")
                #expect(topic.name.split(separator: "/", omittingEmptySubsequences: false).count <= 8)
                #expect(!topic.name.trimmingPrefix("$SYS/").contains { " .+#$".contains($0) })
            }
        }
    }

    @Test(arguments: [
        "", "/", "pacebus", "pacebus/v1", "pacebus/v1/", "pacebus/v1/ff", "pacebus/v1/ff/anna", session,
        "\(session)/", "/\(session)/state", "pacebus/v2/ff/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/state",
        "pacebus/v1/fe/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/state",
        "pacebus/v1/FF/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/state",
        "pacebus/v1/ff/anna/6F9619FF-8B86-D011-B42D-00C04FC964FF/state",
        "pacebus/v1/ff/Anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/state",
        "pacebus/v1/ff/_anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/state",
        "pacebus/v1/+/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/state",
        "pacebus/v1/ff//6f9619ff-8b86-d011-b42d-00c04fc964ff/state", "pacebus/v1/ff/anna/+/state",
        "\(session)/#", "\(session)/+", "\(session)/states", "\(session)/state/", "\(session)//state",
        "\(session)/state/ack", "\(session)/samples", "\(session)/samples/", "\(session)/samples/+",
        "\(session)/samples/watch_1", "\(session)/samples/Watch", "\(session)/samples//ack",
        "\(session)/samples/watch/nack", "\(session)/samples/watch/ack/", "\(session)/samples/watch/ack/more",
        "\(session)/activity/registers", "\(session)/summary", "\(session)/summary/", "\(session)/summary/both",
        "\(session)/heard", "\(session)/heard/both",
        "\(session)/series", "\(session)/series/", "\(session)/series/-1", "\(session)/series/+1",
        "\(session)/series/01", "\(session)/series/00", "\(session)/series/100000", "\(session)/series/1e3",
        "\(session)/series/99999999999999999999", "\(session)/track/1/2", "\(session)/export",
        "\(session)/export/strava/results", "pacebus/v1/u", "pacebus/v1/u/anna", "pacebus/v1/u/anna/",
        "pacebus/v1/u/_anna/current", "pacebus/v1/u/anna/current/1", "pacebus/v1/u/anna/replies",
        "pacebus/v1/u/anna/replies/a_b", "pacebus/v1/u/anna/coach", "pacebus/v1/u/anna/coach/other",
        "pacebus/v1/u/anna/virtual-run", "pacebus/v1/u/anna/run-requests", "pacebus/v1/u/anna/notifications",
        "pacebus/v1/u/anna/notifications/register/more", "\(run)/partner",
        "\(run)/partner/bea", "\(run)/partners/more", "\(run)/other", "pacebus/v1/services",
        "pacebus/v1/services/_device", "pacebus/v1/services/device/a", "pacebus/v1/services/_/a",
        "pacebus/v1/services/_device/a/b", "pacebus/v1/rejected", "pacebus/v1/rejected/device",
        "pacebus/v1/rejected/_device/a", "$SYS/broker/uptime", "$SYS/pacebus/accounts/_operator",
        "$SYS/pacebus/accounts", "$SYS/pacebus/accounts/anna/watch", "$SYS/pacebus/limited/rate",
        "$SYS/pacebus/limited/Rate/anna", "$SYS/pacebus/limited//anna", "$SYS/pacebus/limited/rate/anna/x",
    ])
    func `a name that is not a topic of the bus is refused`(name: String) {
        #expect(Topic(name) == nil)
    }

    @Test(arguments: [
        ("pacebus/v1/ff/anna/6F9619FF-8B86-D011-B42D-00C04FC964FF/samples/watch", "uppercase_session"),
        ("pacebus/v1/FF/anna/6f9619ff-8b86-d011-b42d-00c04fc964Ff/command", "uppercase_session"),
        ("pacebus/v1/FF/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/command", "uppercase_session"),
        ("pacebus/v1/FE/anna/6f9619ff-8b86-d011-b42d-00c04fc964ff/command", "bad_topic"),
        ("pacebus/v1/ff/anna/6F9619FF-8B86-D011-B42D-00C04FC964FF/dance", "bad_topic"),
        ("pacebus/v1/u/anna/Request", "bad_topic"), ("pacebus/v1/ff/anna/no-session/command", "bad_topic"),
        ("pacebus/v1/ff/anna", "bad_topic"),
    ])
    func `a session id or shard in upper case has a reason of its own`(name: String, reason: String) {
        #expect(Topic(name) == nil)
        #expect(Topic.rejectionReason(name) == reason)
    }

    @Test(
        arguments: [
            (.command, 1, false), (.state, 1, true), (.profile, 1, true), (.samplesAck(Device("watch")!), 0, false),
            (.locationsAck(Device("watch")!), 0, false), (.metrics, 0, true), (.route, 0, true),
            (.heard(.samples), 0, true), (.heard(.locations), 0, true), (.weather, 1, true),
            (.announcements, 0, false), (.activityRegister, 1, false), (.activity, 1, true), (.summaryMetrics, 1, true),
            (.summaryRoute, 1, true), (.series(0), 1, false), (.track(0), 1, false), (.request, 1, false),
            (.workout, 1, true), (.export(Target("folder")!), 1, true), (.exportResult(Target("healthkit")!), 1, false),
            (.samples(Device("watch")!), 0, false), (.locations(Device("watch")!), 0, false),
        ] as [(SessionTopic, UInt8, Bool)])
    func `a session topic has the design's QoS and retention`(topic: SessionTopic, qos: UInt8, isRetained: Bool) {
        #expect(topic.qos.rawValue == qos)
        #expect(topic.isRetained == isRetained)
    }

    @Test func `a message has the topic's name, QoS and retention`() throws {
        let topic = try #require(Topic("\(Self.session)/state"))
        #expect(
            topic.message([1, 2]) == MQTTMessage(topic: topic.name, payload: [1, 2], qos: .atLeastOnce, retain: true))
    }

    @Test func `services subscribe for all shards at once or for each of their shards`() {
        let all = TopicFilter.sessions(.samples, shards: Set(Shard.all))
        #expect(all == [MQTTSubscription(filter: "pacebus/v1/+/+/+/samples/+", qos: .atMostOnce)])
        let two = TopicFilter.sessions(.metrics, shards: [Shard(255), Shard(10)])
        #expect(two.map(\.filter) == ["pacebus/v1/0a/+/+/metrics", "pacebus/v1/ff/+/+/metrics"])
        #expect(two.allSatisfy { $0.qos == .atMostOnce })
    }

    @Test func `each bad topic of people is reported by one replica, whatever its shards are`() {
        var random = SeededRandom()
        let kinds = [SessionTopic.Kind.command, .samples, .locations, .activityRegister, .exportResult, .request]
        for _ in 0..<50 {
            var replicas = [Set<Shard>](repeating: [], count: Int.random(in: 1...4, using: &random))
            for shard in Shard.all { replicas[Int.random(in: 0..<replicas.count, using: &random)].insert(shard) }
            let key = SessionKey(User("anna")!, random.identifier())
            func spelled(_ text: some StringProtocol) -> String {
                text.map { Bool.random(using: &random) ? $0.uppercased() : String($0) }.joined()
            }
            for kind in kinds {
                let levels = kind.rawValue.replacing("+", with: "watch-1")
                let name = "pacebus/v1/\(spelled("\(key.session.shard)"))/anna/\(spelled("\(key.session)"))/\(levels)"
                guard Topic(name) == nil else { continue }
                let readers = replicas.filter { shards in
                    TopicFilter.sessions(kind, shards: shards).contains { Self.matches($0.filter, name) }
                }
                let reports = readers.filter { Rejection(badTopic: name, requests: true, owns: $0.contains) != nil }
                #expect(reports.count == 1, "\(name), seed \(random.seed)")
            }
        }
    }

    /// Whether a filter with `+` matches a name.
    private static func matches(_ filter: String, _ name: String) -> Bool {
        let (filter, name) = (filter.split(separator: "/"), name.split(separator: "/"))
        return filter.count == name.count && zip(filter, name).allSatisfy { $0 == "+" || $0 == $1 }
    }

    @Test(arguments: [
        ("pacebus/v1/AB/anna/x/samples/watch", 0xAB), ("pacebus/v1/0c/anna/x/samples/watch", 0x0C),
        ("pacebus/v1/zz/anna/x/samples/watch", 0), ("pacebus/v1/u/Anna/request", 0), ("other/v1/AB/anna", 0), ("", 0),
    ])
    func `the owner of a bad topic's shard reports it, that of 00 if none can be read`(name: String, shard: UInt8) {
        for other in Shard.all {
            let rejection = Rejection(badTopic: name, requests: true) { $0 == other }
            #expect((rejection != nil) == (other == Shard(shard)))
        }
    }

    @Test func `one service reports the topics of requests, which several read`() {
        for name in ["pacebus/v1/ab/anna/x/request", "pacebus/v1/u/anna/viewers/B/request"] {
            #expect(Rejection(badTopic: name) { _ in true } == nil)
            #expect(Rejection(badTopic: name, requests: true) { _ in true }?.topic == name)
        }
    }

    // MARK: The fair queue

    @Test func `what people publish waits in the user's queue, and services' messages there too, in order`() {
        var random = SeededRandom()
        for topic in random.topics() {
            let rule = Topic.queueRule(topic.name)
            let kind: QueueRule.Kind =
                switch topic {
                case .session(_, .samples), .session(_, .locations), .user(_, .importParts): .items
                case .user(_, .viewerRequest): .request
                case .session(_, .command), .session(_, .request), .session(_, .activityRegister),
                    .session(_, .exportResult), .user(_, .request), .user(_, .virtualRunRequest),
                    .user(_, .notificationsRegister), .user(_, .signOut), .user(_, .importRequest):
                    .request
                case .session, .user, .presence, .rejected, .account, .limited: .service
                }
            switch topic {
            case .session(let key, _): #expect(rule == QueueRule(owner: "\(key.user)", kind: kind))
            case .user(_, .viewerRequest(let viewer)): #expect(rule == QueueRule(owner: "\(viewer)", kind: kind))
            case .user(let user, _): #expect(rule == QueueRule(owner: "\(user)", kind: kind))
            case .presence, .rejected, .account, .limited: #expect(rule == QueueRule(owner: "", kind: kind))
            }
        }
    }

    @Test(arguments: [
        "pacebus/v1/ff/mallory/no-session/command", "pacebus/v1/FF/mallory/6F9619FF/samples/WATCH/x",
        "pacebus/v1/ff/mallory/x/other", "pacebus/v1/u/mallory/other", "pacebus/v1/u/mallory/virtual-run",
    ])
    func `a name that is no topic counts as a request of the user in it`(name: String) {
        #expect(Topic.queueRule(name) == QueueRule(owner: "mallory", kind: .request))
    }

    @Test func `a topic is on its user's partition; those of services are on all`() {
        var random = SeededRandom()
        for topic in random.topics() {
            for count in 1...4 {
                let user: User? =
                    switch topic {
                    case .session(let key, _): key.user
                    case .user(let user, _): user
                    case .presence, .rejected, .account, .limited: nil
                    }
                let expected = user.map { Partition.index(of: $0.description, among: count) }
                #expect(Topic.partition(of: topic.name, among: count) == expected, "seed \(random.seed)")
            }
        }
    }

    @Test func `what the broker itself publishes counts as a service's`() {
        #expect(Topic.queueRule("$SYS/pacebus/limited/rate/mallory") == QueueRule(owner: "", kind: .service))
    }
}
