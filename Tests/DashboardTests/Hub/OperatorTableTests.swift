import Bus
import Foundation
import MQTT
import NIOCore
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct OperatorTableTests {
    private typealias Sessions = [User: [SessionID: Hub.Facts]]

    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func facts(_ status: SessionStatus?, changed: Double, heard: Double? = nil) -> Hub.Facts {
        Hub.Facts(revision: (now - changed).milliseconds, status: status, heardAt: heard.map { now - $0 }, items: 1)
    }

    /// The rank of a session: written down apart from the table's own rules.
    private static func rank(_ facts: Hub.Facts) -> Int {
        let quiet = now.seconds(since: facts.heardAt ?? Timestamp(microseconds: facts.revision * 1_000))
        let changed = now.seconds(since: Timestamp(microseconds: facts.revision * 1_000))
        return switch facts.status {
        case .active: quiet > 60 ? 0 : 1
        case .saving: changed > 60 ? 0 : 1
        case .preparing: 1
        case .paused, .suspended, nil: 2
        case .completed, .canceled, .deleted: 3
        }
    }

    private static func makeSessions(_ random: inout SeededRandom) -> Sessions {
        var sessions: Sessions = [:]
        for number in 0..<Int.random(in: 0...3_000, using: &random) {
            let user = User("runner-\(number % Int.random(in: 1...2_000, using: &random))")!
            let status =
                Bool.random(using: &random)
                ? SessionStatus.active : SessionStatus.allCases.randomElement(using: &random)
            sessions[user, default: [:]][SessionID(UUID.random(&random))] = facts(
                Int.random(in: 0..<50, using: &random) == 0 ? nil : status,
                changed: Double(Int.random(in: 0...200, using: &random)),
                heard: Bool.random(using: &random) ? Double(Int.random(in: -5...200, using: &random)) : nil)
        }
        return sessions
    }

    @Test
    func `for any sessions the table has the first hundred of the view in order, and the counts of all`() {
        var random = SeededRandom()
        for _ in 0..<40 {
            let sessions = Self.makeSessions(&random)
            let all = sessions.flatMap { user, known in known.map { (SessionKey(user, $0.key), $0.value) } }
            let view = OperatorView(
                name: ["", "", "runner", "7", " 12", "RUNNER-1", "nobody"].randomElement(using: &random)!,
                filter: OperatorView.Filter.allCases.randomElement(using: &random)!)
            let table = OperatorTable(sessions, view, Self.now)

            for status in SessionStatus.allCases {
                #expect(table.counts[status] ?? 0 == all.count { $0.1.status == status })
            }
            #expect(table.silent == all.count { $0.1.status == .active && Self.rank($0.1) == 0 })
            #expect(table.stuckSaving == all.count { $0.1.status == .saving && Self.rank($0.1) == 0 })

            let wanted = all.filter { key, facts in
                guard view.name.isEmpty || key.user.description.contains(view.name) else { return false }
                return switch view.filter {
                case .unfinished: Self.rank(facts) < 3
                case .silent: facts.status == .active && Self.rank(facts) == 0
                default: facts.status?.rawValue == view.filter.rawValue
                }
            }
            #expect(table.matches == wanted.count)
            #expect(table.rows.count == min(wanted.count, OperatorTable.limit))
            let facts = Dictionary(uniqueKeysWithValues: wanted)
            #expect(table.rows.allSatisfy { facts[$0.key] != nil })
            #expect(Set(table.rows.map(\.key)).count == table.rows.count)
            for (row, next) in zip(table.rows, table.rows.dropFirst()) {
                expectOrder(facts[row.key]!, facts[next.key]!)
            }
            // What the table leaves out comes after its last row.
            guard let last = table.rows.last.flatMap({ facts[$0.key] }) else { continue }
            let shown = Set(table.rows.map(\.key))
            for (key, left) in wanted where !shown.contains(key) { expectOrder(last, left) }
        }
    }

    private func expectOrder(_ first: Hub.Facts, _ second: Hub.Facts) {
        let (rank, next) = (Self.rank(first), Self.rank(second))
        #expect(rank <= next)
        guard rank == next else { return }
        func since(_ facts: Hub.Facts) -> Timestamp {
            let changed = Timestamp(microseconds: facts.revision * 1_000)
            return facts.status == .saving ? changed : facts.heardAt ?? changed
        }
        #expect(rank == 3 ? since(first) >= since(second) : since(first) <= since(second))
    }

    @Test
    func `a page of the longest texts stays below 64 KB`() throws {
        var sessions: Sessions = [:]
        var services: [String: [ProcessName: Hub.Process]] = [:]
        for number in 0..<200 {
            let user = User(String(repeating: "a", count: 60) + "\(1_000 + number)")!
            sessions[user] = [SessionID(UUID()): Self.facts(.active, changed: 5_000, heard: 1e6 + Double(number))]
            for _ in 0..<20 {
                services["service-\(number)", default: [:]][
                    ProcessName.unique(prefix: String(repeating: "h", count: 60))] =
                    Hub.Process(
                        isOnline: number % 2 == 0, shards: String(repeating: "\u{1}", count: 500),
                        version: String(repeating: "\u{202E}", count: 500), renewedAt: Moment(Self.now),
                        since: Self.now, isRetained: true)
            }
        }
        let table = OperatorTable(sessions, OperatorView(), Self.now)
        var overview = Overview(table: table, services: services, link: .connected)
        overview.frames = table.rows.map { row in
            let state =
                #"{"session":"\#(row.key.session)","user":"\#(row.key.user)","revision":1,"status":"active","activity":"traditionalStrength","#
                + #""environment":"indoor","name":"\#(String(repeating: "n", count: 900))","symbol":"s","healthKitActivityType":1,"#
                + #""mode":"watch","segments":[[0,null]],"laps":[],"units":"imperial","streams":{},"isLive":true}"#
            let metrics = #"{"u":"\#(row.key.user)","s":1,"c":1,"d":9e12,"h":9e12,"lp":1,"n":1,"pa":false}"#
            return (EventFrame(.state, Array(state.utf8)), EventFrame(.metrics, Array(metrics.utf8)))
        }
        for _ in 0..<100 {
            let topic = "pacebus/v1/\(String(repeating: "\u{202E}", count: 400))"
            overview.news.receive(
                Topic.rejected(service: String(repeating: "s", count: 60)).message(
                    JSONCoding.encode(
                        Report(at: Self.now, reason: String(repeating: "\u{7}", count: 300), topic: topic))))
        }
        let content = OperatorContent(overview, units: .imperial, now: Self.now)
        #expect(
            content.rows.count == 100
                && content.rows.allSatisfy { $0.activity == "Strength" && !$0.distance.isUnknown })
        #expect(content.rejected.count == BrokerNews.limit)
        #expect(content.headline == "200 sessions silent for over a minute; 100 services offline.")
        let size = EventFrame.json(.overview, content).wire.readableBytes
        #expect(size < 65_536, "\(size)")
    }

    private struct Report: Encodable {
        let at: Timestamp
        let reason: String
        let topic: String
    }

    @Test
    func `the broker's figures are rates a second, and unknown without a connection`() {
        var news = BrokerNews()
        news.connected(Self.now)
        for (topic, value) in [
            ("clients/connected", "12"), ("load/messages/received/1min", "7200.5"), ("load/messages/sent/1min", "60"),
            ("load/bytes/received/1min", "74040"), ("load/bytes/sent/1min", "nan"), ("publish/messages/dropped", "3"),
            ("retained messages/count", "1204"), ("store/messages/count", "1304"), ("heap/current", "12345678"),
            ("uptime", "3907 seconds"), ("heap/maximum", "1"),
        ] {
            news.receive(MQTTMessage(topic: "$SYS/broker/\(topic)", payload: Array(value.utf8), qos: .atMostOnce))
        }
        func texts() -> [String] {
            let overview = Overview(table: OperatorTable([:], OperatorView(), Self.now), link: .connected, news: news)
            return OperatorContent(overview, units: .metric, now: Self.now).figures.map(\.text)
        }
        #expect(texts() == ["12", "120 in, 1 out", "1.2 kB in, -- out", "100", "3", "1,204", "12.3 MB", "1:05:07"])
        news.disconnected()
        #expect(texts() == ["--", "-- in, -- out", "-- in, -- out", "--", "--", "--", "--", "--"])
    }
}

extension UUID {
    fileprivate static func random(_ random: inout SeededRandom) -> UUID {
        let (high, low) = (random.next(), random.next())
        let bytes = withUnsafeBytes(of: (high, low)) { Array($0) }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
