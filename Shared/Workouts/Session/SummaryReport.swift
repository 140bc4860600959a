/// The payload of `summary/metrics` and `summary/route`: the totals of a session's streams and their inputs.
package struct SummaryReport<Totals: Codable & Equatable & Sendable>: Equatable, Sendable {
    package var revision: Int64
    /// The revision of the `state` behind the totals.
    package var state: Int64
    /// The number of items of each stream behind the totals.
    package var next: [StreamName: Int]
    /// The number of chunks of `series` or `track` of this revision.
    package var chunks: Int
    package var totals: Totals

    package init(revision: Int64, state: Int64, next: [StreamName: Int], chunks: Int, totals: Totals) {
        self.revision = revision
        self.state = state
        self.next = next
        self.chunks = chunks
        self.totals = totals
    }

    /// Whether the reports differ in revisions alone.
    package func hasSameContent(as other: Self?) -> Bool {
        guard var same = other else { return false }
        same.revision = revision
        same.state = state
        return same == self
    }
}

/// `summary/metrics`.
package typealias MetricsReport = SummaryReport<MetricsSummary>

/// `summary/route`.
package typealias RouteReport = SummaryReport<RouteSummary>

private enum SummaryKey: String, CodingKey {
    case revision, state, next, chunks
}

extension SummaryReport: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SummaryKey.self)
        revision = try container.decode(Int64.self, forKey: .revision)
        state = try container.decode(Int64.self, forKey: .state)
        next = try container.decode([StreamName: Int].self, forKey: .next)
        chunks = try container.decode(Int.self, forKey: .chunks)
        totals = try Totals(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try totals.encode(to: encoder)
        var container = encoder.container(keyedBy: SummaryKey.self)
        try container.encode(revision, forKey: .revision)
        try container.encode(state, forKey: .state)
        try container.encode(next, forKey: .next)
        try container.encode(chunks, forKey: .chunks)
    }
}
