/// Exponential backoff: waits in seconds that double from failure to failure, between two bounds.
package struct Backoff: Hashable, Sendable {
    package let minimum: Double
    package let maximum: Double

    package init(minimum: Double, maximum: Double) {
        self.minimum = minimum
        self.maximum = maximum
    }

    /// The wait after this many failures in a row, at least one.
    package func delay(after failures: Int) -> Double {
        // 60 doublings exceed every maximum and still fit.
        min(minimum * Double(1 << min(max(failures, 1) - 1, 60)), maximum)
    }

    /// The same, shortened by a random part of up to a half: clients that fail together do not retry together.
    package func delay(after failures: Int, using random: inout some RandomNumberGenerator) -> Double {
        delay(after: failures) * Double.random(in: 0.5...1, using: &random)
    }
}
