import Bus
import Foundation
import MQTT
import Testing

/// What is written about topics elsewhere, held against their rows.
struct TopicRowTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")

    /// The row of each kind, by its filter below `pacebus/v1`.
    private static let rows: [(filter: String, row: TopicRow)] =
        SessionTopic.Kind.allCases.map { ("+/+/+/\($0.rawValue)", $0.row) }
        + UserTopic.Kind.allCases.map { ("u/+/\($0.rawValue)", $0.row) }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func isMatch(_ filter: String, _ name: String) -> Bool {
        let (filter, name) = (filter.split(separator: "/"), name.split(separator: "/"))
        return filter.count == name.count && zip(filter, name).allSatisfy { $0 == "+" || $0 == $1 }
    }

    // MARK: The broker

    @Test func `each service has the broker's rights to the topics of its rows, and to no others`() throws {
        let rules = try Self.text("compose/access.conf").split(separator: "\n").filter { !$0.hasPrefix("#") }
        for service in Party.services {
            var expected = Self.rows.compactMap { filter, row -> String? in
                let access =
                    (row.readers.contains(service) ? "read" : "") + (row.senders.contains(service) ? "write" : "")
                return access.isEmpty ? nil : "topic \(access) pacebus/v1/\(filter)"
            }
            expected += service.observed.map { "topic read pacebus/v1/services/_\($0.rawValue)/+" }
            expected += [
                "topic readwrite pacebus/v1/services/_\(service.rawValue)/+",
                "topic write pacebus/v1/rejected/_\(service.rawValue)",
            ]
            let start = try #require(rules.firstIndex(of: "user _\(service.rawValue)"))
            let found = rules[(start + 1)...].prefix { $0.hasPrefix("topic ") }.filter { !$0.contains("$SYS") }
            #expect(Set(found.map(String.init)) == Set(expected), "\(service)")
        }
    }

    /// So the rules need no denies.
    @Test func `no filter of one kind of topic matches another kind`() {
        for (filter, _) in Self.rows {
            for (other, _) in Self.rows where other != filter {
                let levels = other.split(separator: "/").map(String.init)
                // No id of a session, run, device, client or user is a word of a topic or `u`.
                let name = levels.map { $0 == "+" ? "6f9619ff-8b86-d011-b42d-00c04fc964ff" : $0 }.joined(separator: "/")
                #expect(!Self.isMatch(filter, name), "\(filter) matches \(other)")
            }
        }
    }

    @Test func `the plugin lets people read and write what the rows say`() throws {
        let plugin = try Self.text("compose/broker/plugin.c")
        func list(_ name: String) throws -> Set<String> {
            let start = try #require(plugin.range(of: " \(name)[] = {"))
            let end = try #require(plugin[start.upperBound...].firstIndex(of: "}"))
            return Set(
                plugin[start.upperBound..<end].split(separator: "\"").filter { !$0.contains { ",\n ".contains($0) } }
                    .map(String.init))
        }
        func kinds<Kind: RawRepresentable>(_ kinds: [Kind], where isIncluded: (Kind) -> Bool) -> Set<String>
        where Kind.RawValue == String { Set(kinds.filter(isIncluded).map(\.rawValue)) }
        let (session, user) = (SessionTopic.Kind.allCases, UserTopic.Kind.allCases)
        #expect(try list("shown") == kinds(user) { $0.row.isForViewers })
        #expect(try list("hidden_of_session") == kinds(session) { !$0.row.isForViewers })
        #expect(try list("of_session") == kinds(session) { $0.row.senders.contains(.user) })
        // A device's acknowledgements are below its items.
        let ofDevice = try list("of_device").map { $0.hasSuffix("/#") ? $0.dropLast() + "+" : $0 }
        #expect(try Set(ofDevice) == list("of_session"))
        #expect(try list("of_user") == kinds(user) { $0.row.senders.contains(.user) })
    }

    // MARK: The pages

    /// The rows of a page's tables, as the cells without their padding.
    private func tables(_ path: String) throws -> [[String]] {
        try Self.text(path).split(separator: "\n").filter { $0.hasPrefix("|") }.map { line in
            line.dropFirst().split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The filters of the topics in a cell: `samples/{device}` is that of `samples/+`.
    private func filters(_ cell: String, below prefix: String? = nil) -> [String] {
        cell.split(separator: "`").enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            .map { topic in
                let levels = topic.split(separator: "/").map { $0.hasPrefix("{") ? "+" : String($0) }
                if let prefix { return prefix + levels.joined(separator: "/") }
                return (levels.first == "u" ? "" : "+/+/+/") + levels.joined(separator: "/")
            }
    }

    @Test(arguments: [
        (Party.sessionEngine, "SessionEngine"), (.metricsAggregator, "MetricsAggregator"),
        (.routeBuilder, "RouteBuilder"), (.weatherFetcher, "WeatherFetcher"), (.exporter, "Exporter"),
        (.liveActivityPublisher, "LiveActivityPublisher"), (.virtualRun, "VirtualRun"), (.importer, "Importer"),
    ])
    func `a service's page lists the topics that it reads and writes`(service: Party, folder: String) throws {
        var (listed, title) = (["topics in": Set<String>(), "topics out": []], "")
        for cells in try tables("Services/\(folder)/README.md") {
            if cells[0].hasPrefix("topics ") { title = cells[0] }
            guard cells[0].hasPrefix("`") else { continue }
            var found = filters(cells[0])
            // `summary/{kind}` is both.
            found += found.filter { $0.hasSuffix("summary/+") }.flatMap { _ in
                ["+/+/+/summary/metrics", "+/+/+/summary/route"]
            }
            listed[title]?.formUnion(found.filter { filter in Self.rows.contains { $0.filter == filter } })
        }
        let read = Self.rows.filter { $0.row.readers.contains(service) }.map(\.filter)
        let written = Self.rows.filter { $0.row.senders.contains(service) }.map(\.filter)
        #expect(listed["topics in"] == Set(read))
        #expect(listed["topics out"] == Set(written))
    }

    @Test func `the page of the bus lists each topic with its QoS and retention`() throws {
        var listed: [String: (qos: String, isRetained: Bool)] = [:]
        for cells in try tables("Shared/Bus/README.md") where cells.count >= 4 && cells[0].hasPrefix("`") {
            for prefix in ["+/+/+/", "u/+/"] {
                for filter in filters(cells[0], below: prefix)
                where Self.rows.contains(where: { $0.filter == filter }) {
                    // The words `profile` and `request` are in both tables, alike.
                    listed[filter] = (cells[2], cells[3] == "yes")
                }
            }
        }
        for (filter, row) in Self.rows {
            let place = try #require(listed[filter], "\(filter) is missing")
            let qos = row.queue == .items ? "0 or 1" : "\(row.qos.rawValue)"
            #expect(place.qos == qos && place.isRetained == row.isRetained, "\(filter)")
        }
    }
}
