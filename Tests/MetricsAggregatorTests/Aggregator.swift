import TestSupport

@testable import MetricsAggregator

typealias Aggregator = StreamOwner<SampleWork>
