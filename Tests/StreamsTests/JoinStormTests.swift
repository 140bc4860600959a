import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// Rule 3 for the joined summary: any order, duplication, loss and crash of either service gives the same bytes.
struct JoinStormTests {
    /// What devices and engine publish, in any order.
    private struct Plan {
        let items: JoinItems
        let samples: Range<Int>
        let locations: Range<Int>
        let profile: Profile?

        init(_ random: inout SeededRandom) {
            let isLong = Int.random(in: 0..<3, using: &random) == 0
            items = JoinItems(samples: 0..<601, locations: 0..<(isLong ? 1_601 : 601))
            samples = 0..<(Int.random(in: 0..<4, using: &random) == 0 ? 0 : 601)
            locations = 0..<items.locations.count
            var profile = Profile()
            profile.maximumHeartRate = 200
            profile.weight = 70
            profile.restingHeartRate = 50
            profile.sex = .female
            self.profile = Bool.random(using: &random) ? profile : nil
        }
    }

    private func calm(_ plan: Plan, announces: Bool) async throws -> [String] {
        var world = try JoinWorld()
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        publishStart(plan, &world)
        world.publish([plan.items.batch(world.script, samples: plan.samples)].filter { _ in !plan.samples.isEmpty })
        for first in stride(from: 0, to: plan.locations.count, by: 800) {
            world.publish([plan.items.batch(world.script, locations: first..<first + 800)])
        }
        try await world.pass(1)
        publishEnd(plan, announces, &world)
        try await world.pass(12)
        return try world.results()
    }

    private func publishStart(_ plan: Plan, _ world: inout JoinWorld) {
        if let profile = plan.profile { world.publish([world.script.setProfile(profile)]) }
        world.publish([world.script.stateMessage])
    }

    private func publishEnd(_ plan: Plan, _ announces: Bool, _ world: inout JoinWorld) {
        if announces {
            world.script.state.streams = [StreamName(.locations, Device("watch-1")!): plan.locations.count]
        }
        world.publish([world.script.change(.saving, JoinWorld.segments)])
    }

    private func stormy(_ plan: Plan, announces: Bool, _ random: inout SeededRandom) async throws -> [String] {
        var world = try JoinWorld()
        if Bool.random(using: &random) { world.bounds.manyItems = Int.random(in: 0...400, using: &random) }
        for role in JoinWorld.Role.allCases { try await world.run(role) }
        publishStart(plan, &world)
        var isEnded = false
        var steps = 0
        while !isEnded || !isStored(plan, world) || steps < 25 {
            steps += 1
            if !isEnded, Int.random(in: 0..<8, using: &random) == 0 {
                isEnded = true
                publishEnd(plan, announces, &world)
            }
            world.publish(resent(plan, world, &random))
            let role = JoinWorld.Role.allCases.randomElement(using: &random)!
            switch Int.random(in: 0..<9, using: &random) {
            case 0: world.kill(role)
            case 1:
                // It commits, and some of what follows is lost.
                world.limit(role, to: Int.random(in: 0...3, using: &random))
                try await world.deliver(role, Int.random(in: 1...4, using: &random))
                try await world.tick(role)
                world.kill(role)
            case 2:
                world.refuse(role, true)
                try await world.deliver(role)
                try await world.tick(role)
                world.refuse(role, false)
            case 3: world.lose(role) { topic in if case .track = topic { true } else { topic == .request } }
            case 4: world.shuffleTracks(role, using: &random)
            case 5: world.repeatTracks(using: &random)
            case 6: world.forget()
            default: break
            }
            for role in JoinWorld.Role.allCases {
                if !world.isOnline(role), Bool.random(using: &random) {
                    try await world.run(role)
                    // The engine publishes its retained topics to an empty broker.
                    world.publish(world.engineTopics)
                }
                try await world.deliver(role, Int.random(in: 1...6, using: &random))
                if Bool.random(using: &random) { try await world.tick(role) }
            }
            world.clock.advance(by: .milliseconds(700))
        }
        for role in JoinWorld.Role.allCases where !world.isOnline(role) { try await world.run(role) }
        world.publish(world.engineTopics)
        try await world.reconnect()
        try await world.pass(40)
        world.publish([world.script.chunkRequest])
        try await world.pass(15)
        return try world.results()
    }

    private func isStored(_ plan: Plan, _ world: JoinWorld) -> Bool {
        world.next(.samples) >= plan.samples.count && world.next(.locations) >= plan.locations.count
    }

    /// Unacknowledged items of a device, with repetitions.
    private func resent(_ plan: Plan, _ world: JoinWorld, _ random: inout SeededRandom) -> [MQTTMessage] {
        var messages: [MQTTMessage] = []
        let samples = max(0, world.next(.samples) - Int.random(in: 0...20, using: &random))
        if samples < plan.samples.count, Bool.random(using: &random) {
            let end = min(plan.samples.count, samples + Int.random(in: 1...400, using: &random))
            messages.append(plan.items.batch(world.script, samples: samples..<end))
        }
        let locations = max(0, world.next(.locations) - Int.random(in: 0...20, using: &random))
        if locations < plan.locations.count, Bool.random(using: &random) {
            let end = min(plan.locations.count, locations + Int.random(in: 1...700, using: &random))
            messages.append(plan.items.batch(world.script, locations: locations..<end))
        }
        return messages
    }

    @Test func `any order, loss, duplication and crash of both services gives the same summary and workout`()
        async throws
    {
        var random = SeededRandom()
        for round in 0..<Tier.runs(8, nightly: 25) {
            let plan = Plan(&random)
            let announces = Bool.random(using: &random)
            let expected = try await calm(plan, announces: announces)
            let actual = try await stormy(plan, announces: announces, &random)
            #expect(actual == expected, "seed \(random.seed), round \(round)")
        }
    }
}
