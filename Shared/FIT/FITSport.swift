/// A sport in FIT's numbering. Unnamed numbers are preserved.
package struct FITSport: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let generic = FITSport(rawValue: 0)
    package static let running = FITSport(rawValue: 1)
    package static let cycling = FITSport(rawValue: 2)
    package static let fitnessEquipment = FITSport(rawValue: 4)
    package static let swimming = FITSport(rawValue: 5)
    package static let training = FITSport(rawValue: 10)
    package static let walking = FITSport(rawValue: 11)
    package static let rowing = FITSport(rawValue: 15)
    package static let hiking = FITSport(rawValue: 17)
    package static let hiit = FITSport(rawValue: 62)
}

/// A sub-sport in FIT's numbering. Unnamed numbers are preserved.
package struct FITSubSport: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let generic = FITSubSport(rawValue: 0)
    package static let treadmill = FITSubSport(rawValue: 1)
    package static let spin = FITSubSport(rawValue: 5)
    package static let trail = FITSubSport(rawValue: 3)
    package static let indoorCycling = FITSubSport(rawValue: 6)
    package static let indoorRowing = FITSubSport(rawValue: 14)
    package static let elliptical = FITSubSport(rawValue: 15)
    package static let stairClimbing = FITSubSport(rawValue: 16)
    package static let lapSwimming = FITSubSport(rawValue: 17)
    package static let openWater = FITSubSport(rawValue: 18)
    package static let strength = FITSubSport(rawValue: 20)
    package static let indoorWalking = FITSubSport(rawValue: 27)
    package static let indoorRunning = FITSubSport(rawValue: 45)
    package static let virtual = FITSubSport(rawValue: 58)
    package static let hiit = FITSubSport(rawValue: 70)
}
