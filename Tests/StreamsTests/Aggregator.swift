import TestSupport

@testable import MetricsAggregator

/// The streams' service of which a test needs only that it owns samples.
typealias Aggregator = StreamOwner<SampleWork>
