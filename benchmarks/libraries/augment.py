"""A random augmentation of images, by albumentations."""

import albumentations as A

transform = A.Compose([A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=0.5), A.Rotate(limit=20, p=0.5)])


def augment(image):
    return transform(image=image)["image"]
