import TestSupport
import Testing

struct PropertyTests {
    @Test func `whatever happens in any order, phones are told once, in order, not too fast, and the end`() {
        var random = SeededRandom()
        for _ in 0..<150 {
            var world = PropertyWorld()
            for _ in 0..<Int.random(in: 20...600, using: &random) { world.step(&random) }
            world.settle()
        }
    }
}
