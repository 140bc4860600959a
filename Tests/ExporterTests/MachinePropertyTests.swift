import TestSupport
import Testing

/// Whatever comes, in whatever order, how often, and whoever dies meanwhile.
@Suite(.timeLimit(.minutes(5))) struct MachinePropertyTests {
    @Test func `every workout ends in each target, an upload once, and nothing remains of what was deleted`() {
        var random = SeededRandom()
        for _ in 0..<60 {
            var world = MachineWorld()
            for _ in 0..<250 { world.step(&random) }
            world.settle()
        }
    }
}
