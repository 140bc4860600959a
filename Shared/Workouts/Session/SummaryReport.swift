/// The payload of `summary/metrics` and `summary/route`: the totals of a session's streams and their inputs.
package struct SummaryReport<Totals: Codable & Equatable & Sendable>: Equatable, Sendable {
    package var revision: Int64
    /// The revision of the `state` behind the totals.
    package var state: Int64
    /// The number of items of each stream behind the totals.
    package var next: [StreamName: Int]
    /// The number of chunks of `series` or `track` of this revision.
    package var chunks: Int
    /// Of `summary/metrics`: the revision of the `summary/route` behind the totals; `nil` without a route.
    package var route: Int64?
    /// The stretches without items.
    package var gaps: Silences
    /// The number of items in no segment, of the streams that have such items.
    package var outside: [StreamName: Int]
    package var totals: Totals

    package init(
        revision: Int64, state: Int64, next: [StreamName: Int], chunks: Int, route: Int64? = nil,
        gaps: Silences = Silences(), outside: [StreamName: Int] = [:], totals: Totals
    ) {
        self.revision = revision
        self.state = state
        self.next = next
        self.chunks = chunks
        self.route = route
        self.gaps = gaps
        self.outside = outside
        self.totals = totals
    }

    /// Whether the reports differ in revisions alone.
    package func hasSameContent(as other: Self?) -> Bool {
        guard var same = other else { return false }
        same.revision = revision
        same.state = state
        same.route = route
        return same == self
    }
}

/// `summary/metrics`.
package typealias MetricsReport = SummaryReport<MetricsSummary>

/// `summary/route`.
package typealias RouteReport = SummaryReport<RouteSummary>

private enum SummaryKey: String, CodingKey {
    case revision, state, next, chunks, route, gaps, outside
}

extension SummaryReport: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SummaryKey.self)
        revision = try container.decode(Int64.self, forKey: .revision)
        state = try container.decode(Int64.self, forKey: .state)
        next = try container.decode([StreamName: Int].self, forKey: .next)
        chunks = try container.decode(Int.self, forKey: .chunks)
        route = try container.decodeIfPresent(Int64.self, forKey: .route)
        gaps = try container.decodeIfPresent(Silences.self, forKey: .gaps) ?? Silences()
        outside = try container.decodeIfPresent([StreamName: Int].self, forKey: .outside) ?? [:]
        totals = try Totals(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try totals.encode(to: encoder)
        var container = encoder.container(keyedBy: SummaryKey.self)
        try container.encode(revision, forKey: .revision)
        try container.encode(state, forKey: .state)
        try container.encode(next, forKey: .next)
        try container.encode(chunks, forKey: .chunks)
        try container.encodeIfPresent(route, forKey: .route)
        try container.encode(gaps, forKey: .gaps)
        if !outside.isEmpty { try container.encode(outside, forKey: .outside) }
    }
}
