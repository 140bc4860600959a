import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// The running service, with an APNs server on loopback that accepts documented requests only.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
struct PublisherServiceTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `a workout is started, updated at most every two seconds, kept alive, ended and dismissed`() async throws
    {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let clock = publisher.clock
            var session = ServiceSession(at: clock.now)
            let began = Int(clock.now.seconds)
            try await publisher.send(session.message, session.register(.start, 1))
            try await publisher.rest()
            var requests = try server.requests
            #expect(requests.count == 1)
            let start = try #require(requests.first?.payload?.aps)
            #expect(start.event == "start")
            #expect(start.attributesType == "WorkoutWidgetAttributes")
            #expect(start.attributes?.workoutName == session.state.name)
            #expect(start.attributes?.symbol == session.state.symbol)
            #expect(start.attributes?.workoutActivityType == session.state.healthKitActivityType)
            #expect(start.staleDate == began + 15)
            #expect(requests[0].device == ServiceSession.token(1))
            #expect(requests[0].headers["apns-priority"] == "10")
            #expect(requests[0].headers["apns-expiration"] == "\(began + 600)")
            try await publisher.expect(.active, of: session.key)

            // The woken app registers the activity's token.
            try await publisher.send(session.register(.activity, 2))
            var distance = 0.0
            var distances: [Int: Double] = [:]
            try await publisher.pass(20) {
                distance += 1.5
                try await publisher.send(session.metrics(distance: distance, now: clock.now))
                let second = Int(clock.now.seconds)
                distances[second] = distances[second] ?? distance
            }
            try await publisher.pass(2)
            requests = Array(try server.requests.dropFirst())
            let updates = requests.compactMap { $0.payload?.aps }
            #expect((10...11).contains(updates.count))
            #expect(requests.allSatisfy { $0.device == ServiceSession.token(2) })
            #expect(updates.allSatisfy { $0.event == "update" && $0.staleDate == $0.timestamp + 15 })
            #expect(updates.allSatisfy { $0.relevanceScore == 100 && $0.dismissalDate == nil })
            let times = [began] + updates.map(\.timestamp)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 2 })
            // A push at a full second has the measurements of that time or of half a second before.
            for update in updates.dropFirst() {
                let measured = distances[update.timestamp] ?? distance
                #expect((measured - 1.5...measured).contains(update.contentState.distance ?? 0))
            }
            #expect(updates.last?.contentState.distance == distance)
            let priorities = requests.map { $0.headers["apns-priority"] }
            #expect(priorities == ["10"] + Array(repeating: "5", count: updates.count - 1))

            try await publisher.pass(24)
            let kept = try server.requests.dropFirst(1 + updates.count).compactMap { $0.payload?.aps }
            let last = times.last ?? 0
            #expect(kept.map(\.event) == ["update", "update"])
            #expect(kept.map(\.timestamp) == [last + 10, last + 20])
            try await publisher.expect(.active, of: session.key)

            try await publisher.send(session.become(.paused, now: clock.now))
            try await publisher.rest()
            let paused = try #require(try server.requests.last)
            #expect(paused.payload?.aps.contentState.isPaused == true)
            #expect(paused.headers["apns-priority"] == "10")

            try await publisher.pass(2)
            let ended = Int(clock.now.seconds)
            try await publisher.send(session.become(.saving, now: clock.now))
            try await publisher.rest()
            let end = try #require(try server.requests.last)
            #expect(end.payload?.aps.event == "end")
            #expect(end.payload?.aps.contentState.isFinished == true)
            #expect(end.payload?.aps.contentState.distance == distance)
            #expect(end.payload?.aps.dismissalDate == ended + 60)
            #expect(end.payload?.aps.staleDate == nil)
            #expect(end.headers["apns-priority"] == "10")
            #expect(end.headers["apns-expiration"] == "\(ended + 8 * 3_600)")
            try await publisher.expect(.ended, of: session.key)
            for action in ["start", "end"] {
                #expect(publisher.count(logged: "info push delivered action=\(action) device=") == 1)
            }
            #expect(publisher.count(logged: "info push delivered action=update") == 0)
            let count = try server.requests.count
            try await publisher.pass(59.5)
            #expect(try publisher.retainedStatus(of: session.key)?.status == .ended)
            try await publisher.pass(0.5)
            try await publisher.expect(.dismissed, of: session.key)
            try await publisher.send(session.become(.completed, now: clock.now))
            try await publisher.pass(5)
            #expect(try server.requests.count == count)
        }
        #expect(try server.requests.allSatisfy { $0.status == 200 && $0.error == nil })
        #expect(Set(try server.requests.map(\.connection)) == [1])
    }

    @Test func `a phone shows the plan's current phase, and an invalid plan is rejected`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let clock = publisher.clock
            let key = SessionKey(User("anna")!, SessionID(UUID()))
            var start = SessionStart(activity: .hiit, countdown: 0)
            let sprint = WorkoutDefinition.Item(name: "Sprint")
            start.definition = WorkoutDefinition(
                timer: TimerConfiguration(.interval, work: 20, rest: 10, rounds: 8), sections: [.init(items: [sprint])])
            let session = Session(key: key, start: start, at: clock.now, now: clock.now)
            let began = clock.now
            func message() -> MQTTMessage {
                let state = session.state(revision: clock.now.milliseconds, lastActiveAt: clock.now)
                let payload = JSONCoding.encode(PublishedState(state, session.planState(clock.now)))
                return Topic.session(key, .state).message(payload)
            }
            let registration = ServiceSession(key.user.description, session: key.session, at: clock.now)
                .register(.activity, 1)
            try await publisher.send(message(), registration)
            try await publisher.rest()
            try await publisher.pass(20)
            try await publisher.send(message())
            try await publisher.pass(2)
            let contents = try server.requests.compactMap { $0.payload?.aps.contentState }
            #expect(
                contents.first?.exercise == "Sprint" && contents.first?.phase == "work" && contents.first?.round == 1)
            #expect(contents.first?.phaseEndsAt == (began + 20).seconds)
            #expect(contents.last?.phase == "rest" && contents.last?.phaseEndsAt == (began + 30).seconds)

            let text = String(decoding: message().payload, as: UTF8.self)
            let other = Array(text.replacing(#""chosen":0"#, with: #""chosen":9"#).utf8)
            try await publisher.send(Topic.session(key, .state).message(other))
            try await publisher.rest()
            #expect(publisher.broker.published.contains { $0.topic.hasPrefix("pacebus/v1/rejected/") })
        }
    }

    @Test func `a phone that registers during a pause shows the session so far`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let clock = publisher.clock
            var session = ServiceSession(at: clock.now)
            try await publisher.send(session.message)
            for distance in [40.0, 42] {
                try await publisher.pass(1)
                try await publisher.send(session.metrics(distance: distance, now: clock.now))
            }
            try await publisher.send(session.become(.paused, now: clock.now))
            try await publisher.pass(10)
            try await publisher.send(session.register(.activity, 1))
            try await publisher.pass(1)
            let shown = try #require(try server.requests.first?.payload?.aps.contentState)
            #expect(shown.isPaused)
            #expect(shown.distance == 42)
        }
    }

    @Test func `a thousand phones receive pushes over one connection, hundreds at a time`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let sessions = (1...1_200).map { ServiceSession("u\($0)", at: publisher.clock.now) }
            for (number, session) in sessions.enumerated() {
                try await publisher.send(session.message, session.register(.start, number))
            }
            var most = 0
            try await publisher.expectEventually {
                most = max(most, publisher.value("pushes_in_flight") ?? 0)
                return try server.requests.count == sessions.count
            }
            #expect((1...500).contains(most))
            try await publisher.rest()
            for session in sessions { #expect(try publisher.retainedStatus(of: session.key)?.status == .active) }
        }
        #expect(Set(try server.requests.map(\.device)).count == 1_200)
        #expect(Set(try server.requests.map(\.connection)) == [1])
    }

    @Test func `without a key activities stay pending, logged once`() async throws {
        try await RunningPublisher.run(in: folder, nil) { publisher in
            var session = ServiceSession(at: publisher.clock.now)
            let id = CommandID(UUID())
            try await publisher.send(
                session.message, session.register(.start, 1), session.register(.activity, 2, id: id))
            #expect(try await publisher.reply(to: id, of: session.key.user).ok)
            try await publisher.expect(.pending, of: session.key)
            try await publisher.pass(5)
            try await publisher.send(session.become(.saving, now: publisher.clock.now))
            try await publisher.pass(5)
            #expect(try publisher.retainedStatus(of: session.key)?.status == .pending)
            #expect(publisher.count(logged: "notice no APNs key, Live Activities stay pending") == 1)
            #expect(publisher.value("pushes_in_flight") == 0)
        }
    }

    @Test func `an invalid payload is rejected without publishing its token`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let session = ServiceSession(at: publisher.clock.now)
            let other = ServiceSession("bert", at: publisher.clock.now)
            let secret = ServiceSession.token(7)
            try await publisher.send(
                session.message, session.register(.activity, 1),
                Topic.session(session.key, .activityRegister).message(Array(#"{"token":"\#(secret)"}"#.utf8)),
                // The service does not decode payloads of sessions without activities.
                Topic.session(other.key, .metrics).message(Array("{".utf8)),
                Topic.session(other.key, .state).message(Array(session.message.payload)))
            // Metrics of the session are subscribed to at the next tick.
            try await publisher.pass(1)
            try await publisher.send(Topic.session(session.key, .metrics).message(Array("{".utf8)))
            try await publisher.rest()
            let rejected = publisher.broker.published
                .filter { $0.topic == Topic.rejected(service: "live-activity-publisher").name }
                .map { String(decoding: $0.payload, as: UTF8.self) }
            #expect(rejected.count == 3)
            #expect(rejected.allSatisfy { !$0.contains(secret) })
            #expect(publisher.log.lines.allSatisfy { !$0.contains(secret) && !$0.contains(ServiceSession.token(1)) })
            #expect(try server.events == ["update"])
        }
    }

    @Test func `a deleted session's activity is dismissed immediately and purged`() async throws {
        let server = try await APNsServer("{}")
        let (broker, clock) = (InMemoryBroker(), RunningPublisher.clock())
        var session = ServiceSession(at: clock.now)
        let topic = Topic.session(session.key, .activity).name
        try await RunningPublisher.run(in: folder, server, broker: broker, clock: clock) { publisher in
            try await publisher.send(session.message, session.register(.activity, 1))
            try await publisher.rest()
            try await publisher.expect(.active, of: session.key)
            try await publisher.pass(2)
            try await publisher.send(session.become(.deleted, now: clock.now))
            try await publisher.rest()
            try await publisher.expectEventually { broker.retained(topic) == nil }
            let end = try #require(try server.requests.last?.payload?.aps)
            #expect(end.event == "end")
            #expect(end.dismissalDate == Int(clock.now.seconds))
            #expect(end.contentState.distance == nil)
            let records = try await publisher.store.records(
                in: ActivityRecord.activities, shards: [session.key.session.shard])
            #expect(records.isEmpty)
        }
        #expect(try server.events == ["update", "end"])
    }

    @Test func `while writes fail, no activity starts, updates continue, and the rest follows later`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let clock = publisher.clock
            var shown = ServiceSession(at: clock.now)
            var new = ServiceSession("bert", at: clock.now)
            var short = ServiceSession("carl", at: clock.now)
            try await publisher.send(shown.message, shown.register(.activity, 1), new.message, short.message)
            try await publisher.rest()
            publisher.store.refuse(true)
            let registration = new.register(.start, 2)
            try await publisher.send(registration, short.register(.start, 3))
            for second in 1...8 {
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(0.5))
                let message = shown.metrics(distance: Double(second), now: clock.now)
                try await publisher.send(message)
                let due = 1 + second / 4
                let isSent = try await eventually {
                    try await publisher.send(message)
                    return try server.requests.count >= due
                }
                #expect(isSent)
            }
            #expect(try server.events == ["update", "update", "update"])
            #expect(publisher.count(logged: "error commit failed, retrying") == 1)
            let replies = Topic.user(new.key.user, .replies(ServiceSession.client)).name
            #expect(!publisher.broker.published.contains { $0.topic == replies })
            // A push of the last message shows that the service has handled all.
            try await publisher.send(
                new.metrics(distance: 70, now: clock.now), short.become(.completed, now: clock.now),
                shown.metrics(distance: 99, now: clock.now))
            let isTaken = try await eventually {
                clock.advance(by: .seconds(0.1))
                return try server.requests.last?.payload?.aps.contentState.distance == 99
            }
            #expect(isTaken)
            let takenAt = Int(clock.now.seconds)
            publisher.store.refuse(false)
            clock.advance(by: .seconds(1))
            try await publisher.rest()
            // The start has the newest snapshot, and the ended session gets none.
            let starts = try server.requests.filter { $0.payload?.aps.event == "start" }
            #expect(starts.map(\.device) == [ServiceSession.token(2)])
            #expect(starts.first?.payload?.aps.contentState.distance == 70)
            #expect(starts.first?.payload?.aps.timestamp ?? 0 >= takenAt)
            // While writes fail, no reply is sent.
            #expect(!publisher.broker.published.contains { $0.topic == replies })
            try await publisher.send(registration)
            try await publisher.expectEventually { publisher.broker.published.contains { $0.topic == replies } }
            #expect(publisher.count(logged: "notice commits succeed again") == 1)
        }
    }

    @Test func `the metrics are valid for Prometheus`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            var session = ServiceSession(at: publisher.clock.now)
            try await publisher.send(session.message, session.register(.start, 1))
            try await publisher.rest()
            try await publisher.send(session.register(.activity, 2), Topic.session(session.key, .state).message([1]))
            try await publisher.pass(6)
            // The service counts activities every five seconds.
            try await publisher.expectEventually {
                publisher.metrics.render().contains(#"pacebus_live_activity_activities{status="active"} 1"#)
            }
            let shown = publisher.metrics.render()
            #expect(shown.contains(#"pacebus_live_activity_activities{status="pending"} 0"#))
            #expect(shown.contains(#"pacebus_live_activity_rejected_total{reason="#))
            #expect(shown.contains(#"pacebus_live_activity_pushes_total{event="start",outcome="delivered"} 1"#))
            #expect(shown.contains(#"pacebus_live_activity_pushes_total{event="update",outcome="delivered"} 1"#))
            #expect(shown.contains("pacebus_live_activity_push_seconds_count 2"))
            #expect(publisher.value("sessions") == 1)
            #expect(publisher.value("messages_total") ?? 0 > 3)
            try await publisher.send(session.become(.completed, now: publisher.clock.now))
            try await publisher.pass(6)
            try await publisher.expectEventually {
                publisher.metrics.render().contains(#"pacebus_live_activity_activities{status="ended"} 1"#)
            }
            let ended = publisher.metrics.render()
            #expect(ended.contains(#"pacebus_live_activity_pushes_total{event="end",outcome="delivered"} 1"#))
            if let verdict = try Promtool.check(ended) { #expect(verdict == "exit 0\n") }
        }
    }
}
