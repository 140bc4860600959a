import Foundation
import Testing
import Workouts

@Suite struct ProfileTimeZoneTests {
    @Test(arguments: [
        "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Asia/Calcutta", "Etc/UTC", "UTC", "GMT",
    ])
    func `a zone by area and place is one, and UTC`(identifier: String) {
        #expect(TimeZone.isIANA(identifier))
    }

    @Test(arguments: [
        "", "GMT+3", "GMT+0300", "UTC+05:00", "PST", "Z", "Europe", "Europe/", "Europe/Atlantis", "europe/berlin",
        " Europe/Berlin", "../../etc/localtime", "Europe/../Europe/Berlin", "/etc/localtime",
    ])
    func `offsets, abbreviations and paths are none`(identifier: String) {
        #expect(!TimeZone.isIANA(identifier))
    }
}
