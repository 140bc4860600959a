import Foundation
import Workouts

/// Repeatable random numbers whose seed is printed. The environment variable `SEED` overrides the seed.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var numbers: SplitMix64

    /// - Parameter name: the test that the printed line names.
    package init(_ name: String = #function) {
        let seed =
            ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
        self.init(seed: seed)
        print("SEED=\(seed) for \(name)")
    }

    package init(seed: UInt64) {
        self.seed = seed
        numbers = SplitMix64(seed: seed)
    }

    package mutating func next() -> UInt64 { numbers.next() }
}
