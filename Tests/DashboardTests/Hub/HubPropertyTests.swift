import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// Random watches, payloads, slow viewers and reconnects.
struct HubPropertyTests {
    private struct Reader {
        let login: Login
        let watch: Watch
        var isSlow = false
        /// The events that were checked.
        var checked = 0
        var revisions: [String: Int64] = [:]
    }

    private struct Event: Decodable {
        let topic: String?
        let revision: Int64?
        let s: Int64?
    }

    private struct Named: Decodable {
        let user: User
        let session: SessionID?
        let payload: Event

        /// A route and a workout lose all but their figures.
        func topic(_ name: String) -> String? {
            guard let session, name == "route" || name == "workout" else { return payload.topic }
            #expect(payload.topic == nil)
            return Topic.session(SessionKey(user, session), name == "route" ? .route : .workout).name
        }
    }

    private static let users = [anna, ben]
    private static let keys = users.flatMap { user in (0..<3).map { sessionKey(user, $0) } }
    private static let runs = [runID(1), runID(2)]

    private static func topics() -> [Topic] {
        keys.flatMap { key in
            [SessionTopic.state, .metrics, .route, .weather, .workout, .announcements].map { Topic.session(key, $0) }
        }
            + users.flatMap { user in
                [UserTopic.current, .profile, .virtualRunPeople].map { Topic.user(user, $0) }
                    + runs.flatMap { run in
                        [
                            UserTopic.virtualRun(run), .partners(run), .partnerPositions(run),
                            .virtualRunAnnouncements(run),
                        ]
                        .map { Topic.user(user, $0) }
                    }
            }
    }

    /// Whether a stream may have a topic: written down apart from the hub's own rules.
    private static func maySee(_ topic: Topic, _ reader: Reader) -> Bool {
        switch (reader.watch, topic) {
        case (.live(let key, _), .session(let other, _)): key == other
        case (.live, .user(let user, .current)), (.live, .user(let user, .profile)),
            (.live, .user(let user, .virtualRun)), (.live, .user(let user, .virtualRunPeople)):
            user == reader.login.user
        case (.home(let users), .session(let key, let topic)):
            users.contains(key.user) && [.state, .metrics, .route, .workout].contains(topic)
        case (.home(let users), .user(let user, .current)): users.contains(user) || user == reader.login.user
        case (.home, .user(let user, .profile)), (.home, .user(let user, .virtualRun)),
            (.home, .user(let user, .virtualRunPeople)):
            user == reader.login.user
        case (.virtualRun(let runner, _), .session(let key, let topic)):
            key.user == runner && [.state, .metrics, .workout].contains(topic)
        case (.virtualRun(let runner, let run), .user(let user, let topic)):
            user == runner
                && [
                    .current, .profile, .virtualRunPeople, .partners(run), .partnerPositions(run),
                    .virtualRunAnnouncements(run),
                ].contains(topic)
                || user == runner && Self.runs.contains { topic == .virtualRun($0) }
        default: false
        }
    }

    private static func isRevised(_ topic: Topic) -> Bool {
        switch topic {
        case .session(_, .announcements), .user(_, .virtualRunAnnouncements): false
        default: true
        }
    }

    private static func check(_ world: HubWorld, _ id: Int, _ reader: inout Reader) throws {
        let events = world.read[id, default: []]
        for text in events.dropFirst(reader.checked) {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 4 && lines[2].isEmpty && lines[3].isEmpty, "one event, one line of data")
            let name = String(lines[0].dropFirst(7))
            guard !["beat", "bus", "services", "ready", "seen", "end"].contains(name) else { continue }
            let data = Data(lines[1].dropFirst(6).utf8)
            let event: Event
            let path: String?
            if reader.watch.namesSource {
                let named = try JSONDecoder().decode(Named.self, from: data)
                event = named.payload
                path = named.topic(name)
                #expect(path?.contains("/\(named.user)/") == true)
            } else {
                event = try JSONDecoder().decode(Event.self, from: data)
                path = event.topic
            }
            let topic = try #require(path.flatMap { Topic($0) })
            #expect(maySee(topic, reader), "\(topic.name) on \(reader.watch)")
            if isRevised(topic) {
                let revision = try #require(event.revision ?? event.s)
                #expect(revision > reader.revisions[topic.name] ?? -1, "the revision of \(topic.name) falls")
                reader.revisions[topic.name] = revision
            }
        }
        reader.checked = events.count
    }

    @Test
    func `a viewer that reads ends with the newest of each topic it may see, and with nothing else`() throws {
        var random = SeededRandom()
        let topics = Self.topics()
        for _ in 0..<30 {
            var world = HubWorld()
            var readers: [Int: Reader] = [:]
            var revision: Int64 = world.now.wallClock.milliseconds
            for _ in 0..<600 {
                switch Int.random(in: 0..<20, using: &random) {
                case 0:
                    let user = Self.users.randomElement(using: &random)!
                    let key = Self.keys.randomElement(using: &random)!
                    let watch: Watch =
                        switch Int.random(in: 0..<5, using: &random) {
                        case 0:
                            .home(
                                Set(Self.users.shuffled(using: &random).prefix(Int.random(in: 0...2, using: &random))))
                        case 1: .virtualRun(user, Self.runs.randomElement(using: &random)!)
                        // Its pages are no messages of the bus.
                        case 2: .operators(OperatorView())
                        default: .live(key, isOwner: key.user == user)
                        }
                    let person = login(user)
                    readers[try world.watch(watch, person)] = Reader(
                        login: person, watch: watch, isSlow: Bool.random(using: &random))
                case 1:
                    guard let id = readers.keys.sorted().randomElement(using: &random) else { continue }
                    try Self.check(world, id, &readers[id]!)
                    world.hub.leave(id, world.now)
                    world.waiting.remove(id)
                    readers[id] = nil
                case 2: world.tick(Double.random(in: 0...5, using: &random))
                case 3:
                    // A change without connection counts as granted, too.
                    if world.hub.takeNeedsChange() { world.hub.needsChangeGranted(world.now) }
                    world.tick(Double.random(in: 0...40, using: &random))
                case 4: world.perform(world.hub.disconnected(world.now))
                case 5: world.perform(world.hub.connected(world.now))
                case 6...8: for id in readers.keys where !readers[id]!.isSlow { world.drain(id) }
                case 9: for id in readers.keys.sorted() where Bool.random(using: &random) { world.drain(id) }
                default:
                    let topic = topics.randomElement(using: &random)!
                    revision += 1
                    let number = max(
                        0, revision - (Bool.random(using: &random) ? 0 : Int64.random(in: 0...20, using: &random)))
                    let status = SessionStatus.allCases.randomElement(using: &random)!
                    let payloads = [
                        #"{"revision":\#(number),"status":"\#(status)","topic":"\#(topic.name)","activity":"running","#
                            + #""activeDuration":1,"name":"Run","s":\#(number)}"#,
                        #"{"s":\#(number),"topic":"\#(topic.name)"}"#,
                        #"{"s":\#(number),"topic":"\#(topic.name)"}"#, "", "{\n}", "x",
                    ]
                    try? world.publish(topic, payloads.randomElement(using: &random)!)
                }
                for id in world.aborted {
                    if let reader = readers.removeValue(forKey: id) {
                        #expect(reader.isSlow || !world.waiting.contains(id))
                    }
                }
                for (id, stream) in world.hub.streams {
                    #expect(stream.count <= topics.count + 5 + 2 * LiveStream.announcementLimit)
                    #expect(readers[id] != nil)
                }
            }
            if world.hub.takeNeedsChange() { world.hub.needsChangeGranted(world.now) }
            for _ in 0..<3 {
                for id in readers.keys { world.drain(id) }
                world.tick(0.3)
            }
            for id in readers.keys {
                #expect(world.names(id).filter { $0 == "ready" }.count == 1)
                try Self.check(world, id, &readers[id]!)
                for topic in topics where Self.isRevised(topic) && Self.maySee(topic, readers[id]!) {
                    guard let frame = world.hub.frame(of: topic) else { continue }
                    // A card shows the newest records only, and so does a run's page. Cards get no record without totals.
                    let isPast =
                        switch (topic, readers[id]!.watch) {
                        case (.session, .home), (.session, .virtualRun): true
                        default: false
                        }
                    #expect(
                        readers[id]!.revisions[topic.name] == frame.revision
                            || isPast && (readers[id]!.revisions[topic.name] == nil || frame.naming(topic) == nil),
                        "\(topic.name) on \(readers[id]!.watch)")
                }
                world.hub.leave(id, world.now)
            }
            world.tick(31)
            #expect(world.hub.needs.isEmpty && world.hub.audiences.isEmpty && world.hub.logins.isEmpty)
            #expect(world.hub.streams.isEmpty && world.hub.pending.isEmpty)
        }
    }
}
